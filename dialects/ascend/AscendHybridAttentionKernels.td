//===- AscendHybridAttentionKernels.td - Window and entries -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td: attention of DeepSeek-V4, whose queries see the keys
// of a window and entries that pool tokens. Queries are [batch, queries, heads,
// width], keys and entries [batch, rows, width].
//
//===----------------------------------------------------------------------===//

// `keys` is a C++ expression for the number of keys that a query sees,
// `products` the number of products of queries and keys, and `cannKernel` the
// kernel of CANN, which programs do not call.
class HybridKernel<string kernelName, string kernelFactory, string keys,
                   string products, string cannKernel>
    : Kernel<kernelName, kernelFactory> {
  let cannBody = [{
    stream.require(false, "mf does not call }] # cannKernel # [{, which CANN has "
                          "for it; 'apply_dsa_kernel_fusion: False' selects single "
                          "operators, which mf calls");}];
  let engine = Cube;
  let flops = "getHybridFlops(spec, " # keys # ", " # products # ")";
  let measures = [Measure<"keys", keys>,
                  Measure<"queries", "getSecondDimension(spec.inputs[0])">,
                  Measure<"head_size", "getColumns(spec.inputs[0])">,
                  Measure<"query_rows", "getQueryRows(spec)">];
}

def HybridAttention : HybridKernel<"mfHybridAttention", "makeHybridAttention",
                                   "getHybridKeys(spec, 1, 4)", "2",
                                   "aclnnSparseFlashMla"> {
  let summary = "attention over a window and entries, with a sink for each head";
  let parts = "bsND, bKD, s, N, bGD, bsC -> bsND, bsN";
  let description = [{The query at position p sees the keys from p - `window` + 1 to
    p, and the entries g with (g + 1) * `ratio` <= p + 1; with `indices`, those of
    them that it names. Keys and entries are also the values. `logSum` is the
    logarithm of the sum of exponentials, the sink's among them.}];
  let inputs = (ins In:$query, In:$keys, In:$positions, In:$sink,
                    OptionalIn:$entries, OptionalIn:$indices);
  let outputs = (outs Out:$out, Out:$logSum);
  let attributes = (attrs Int:$window, Int:$ratio, Double:$scale);
  let kind = "attention";
}

def HybridAttentionGrad
    : HybridKernel<"mfHybridAttentionGrad", "makeHybridAttentionGrad",
                   "getHybridKeys(spec, 2, 7)", "5",
                   "aclnnSparseFlashMlaGrad"> {
  let summary = "gradients of mfHybridAttention";
  let parts = "+bsND, bsND, bKD, s, N, bsND, bsN, bGD, bsC -> "
              # "bsND, bKD, N, bGD";
  let description = [{`gradKeys`, `gradSink` and `gradEntries` are the contributions of
    these queries.}];
  let inputs = (ins In:$gradOut, In:$query, In:$keys, In:$positions, In:$sink,
                    In:$out, In:$logSum, OptionalIn:$entries,
                    OptionalIn:$indices);
  let outputs = (outs Out:$gradQuery, Out:$gradKeys, Out:$gradSink,
                      OptionalVariadicOut:$gradEntries);
  let attributes = (attrs Int:$window, Int:$ratio, Double:$scale);
  let kind = "attention_grad";
  let workspace = "getHybridGradWorkspace(spec)";
}

def EntryShares : HybridKernel<"mfEntryShares", "makeEntryShares",
                               "getColumns(spec.inputs[2])", "1",
                               "aclnnSparseFlashMlaSoftmaxL1Norm"> {
  let summary = "mean over heads of the probabilities of chosen entries";
  let parts = "bsND, bGD, bsC, bsN -> bsC";
  let description = "An index below 0 has a share of 0.";
  let inputs = (ins In:$query, In:$entries, In:$indices, In:$logSum);
  let outputs = (outs Out:$out);
  let attributes = (attrs Double:$scale);
  let kind = "attention";
}

def LightningIndexer : HybridKernel<"mfLightningIndexer", "makeLightningIndexer",
                                    "getSecondDimension(spec.inputs[1])", "1",
                                    "aclnnLightningIndexerV2"> {
  let summary = "entries with the largest sums over heads of weight * relu(query key)";
  let parts = "bsND, bGD, bsN, s -> bsC, bsC";
  let description = [{The query at position p sees the entries g with (g + 1) * `ratio`
    <= p + 1. Of equal scores the lower index comes first. Behind the last visible
    entry, scores are `unseen` and indices -1.}];
  let inputs = (ins In:$query, In:$keys, In:$weights, In:$positions);
  let outputs = (outs Out:$values, Out:$indices);
  let attributes = (attrs Int:$ratio, Int:$k, Double:$unseen);
  let kind = "attention";
}

def LightningIndexerGrad
    : HybridKernel<"mfLightningIndexerGrad", "makeLightningIndexerGrad",
                   "getColumns(spec.inputs[0])", "3",
                   "aclnnSparseLightningIndexerKLLossGrad"> {
  let summary = "gradients of mfLightningIndexer";
  let parts = "+bsC, bsND, bGD, bsN, bsC -> bsND, bGD, bsN";
  let description = [{`gradKeys` are the contributions of these queries. An index below
    0 has none.}];
  let inputs = (ins In:$gradValues, In:$query, In:$keys, In:$weights,
                    In:$indices);
  let outputs = (outs Out:$gradQuery, Out:$gradKeys, Out:$gradWeights);
  let kind = "attention_grad";
  let workspace = "getIndexerGradWorkspace(spec)";
}
