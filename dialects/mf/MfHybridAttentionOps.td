//===- MfHybridAttentionOps.td - Window, entries, indexer ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Attention of DeepSeek-V4 as few kernels, which read keys and entries where they
// are: no operator gathers the keys of a query, and scores are in no tensor. Ranks
// may have parts of the queries: query i then has the position first_query + i.
//
//===----------------------------------------------------------------------===//

#ifndef MF_HYBRID_ATTENTION_OPS_TD
#define MF_HYBRID_ATTENTION_OPS_TD

include "dialects/mf/MfOpBase.td"

// The kernel of a part of the queries has a name of its own.
class Mf_HybridOp<string mnemonic, string kernel, string partKernel, dag operands,
                  dag attributes, dag outputs, list<Trait> traits>
    : Mf_ComputeOp<mnemonic, "", operands, attributes, outputs, traits> {
  let computeDefs = [{
    ::llvm::StringRef $cppClass::getKernelName() {
      return getFirstQuery() ? "}] # partKernel # [{" : "}] # kernel # [{";
    }
  }];
}

def Mf_HybridAttentionOp : Mf_HybridOp<"hybrid_attention",
    "mfHybridAttention", "mfHybridAttentionPart",
    (ins Mf_FloatTensor:$query, Mf_FloatTensor:$keys, Mf_FloatTensor:$sink,
         Optional<Mf_IndexTensor>:$first_query,
         Optional<Mf_FloatTensor>:$entries, Optional<Mf_IndexTensor>:$indices),
    (ins I64Attr:$window, I64Attr:$ratio, F64Attr:$scale),
    (outs Mf_FloatTensor:$result, Mf_FloatTensor:$log_sum),
    [Mf_Differentiable, AttrSizedOperandSegments,
     Mf_OwnShardingRuleWith<["localize"]>,
     AllTypesMatch<["query", "result"]>]> {
  let trainer = [{
    for (::mlir::Value value : getOperands())
      tape.keep(value);
    tape.keep(getResult());
    tape.keep(getLogSum());
   }];
  let summary = "attention over a window and entries that pool tokens, with a sink";
  let description = [{
    `query` is [batch, queries, heads, width], `keys` [batch, tokens, width], `sink`
    [heads] in fp32, and `entries` [batch, entries, width]. Keys and entries are keys
    and values of all heads at once. Query i has position i, or `first_query` + i, a
    tensor of one number that a rank reads which has a part of the queries. `keys` may
    also be [batch, blocks, window - 1 + tokens of a block, width]: the keys of each
    block of tokens behind the last ones before it, so that ranks that have a block each
    exchange only the latter. Nothing reads what is before the first token. The query at
    position p sees

    - the keys of the last `window` tokens up to p;
    - entries all of whose `ratio` tokens are at most p, (g + 1) * ratio <= p + 1 for
      entry g: all of them, or with `indices`, [batch, queries, chosen], those that
      are named there. An index below 0 names none.

    The result is the sum of exp(s) * value / (the sum of exp(s) + exp(sink)) with s =
    `scale` * query * key. `log_sum`, [batch, queries, heads] in fp32, is the logarithm
    of the divisor, which backward reads instead of scores. In fp32.

    ```mlir
    %y, %log_sum = mf.hybrid_attention %q, %k, %sink over %e {name = "self_attention.core_attention.hybrid_attention", ratio = 2 : i64, scale = 5.000000e-01 : f64, window = 2 : i64}
        : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x2x4xf32>)
        -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
    ```
  }];
  let assemblyFormat = [{
    $query `,` $keys `,` $sink (`from` $first_query^)? (`over` $entries^)?
    (`at` $indices^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$keys,
                                 "::mlir::Value":$sink,
                                 "::mlir::Value":$entries,
                                 "::mlir::Value":$indices, "int64_t":$window,
                                 "int64_t":$ratio, "double":$scale)>];
}

def Mf_HybridAttentionGradOp : Mf_HybridOp<"hybrid_attention_grad",
    "mfHybridAttentionGrad", "mfHybridAttentionPartGrad",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$query,
         Mf_FloatTensor:$keys, Mf_FloatTensor:$sink, Mf_FloatTensor:$output,
         Mf_FloatTensor:$log_sum, Optional<Mf_IndexTensor>:$first_query,
         Optional<Mf_FloatTensor>:$entries, Optional<Mf_IndexTensor>:$indices),
    (ins I64Attr:$window, I64Attr:$ratio, F64Attr:$scale),
    (outs Mf_FloatTensor:$query_gradient, Mf_FloatTensor:$keys_gradient,
          Mf_FloatTensor:$sink_gradient,
          Optional<Mf_FloatTensor>:$entries_gradient),
    [AttrSizedOperandSegments,
     AllTypesMatch<["output_gradient", "output", "query", "query_gradient"]>,
     AllTypesMatch<["keys", "keys_gradient"]>,
     AllTypesMatch<["sink", "sink_gradient"]>]> {
  let summary = "gradients of mf.hybrid_attention";
  let description = [{
    Computes the scores again from the operands and `log_sum`. If only part of the
    queries is given, keys, entries and sink get their contributions.
  }];
  let assemblyFormat = [{
    $output_gradient `,` $query `,` $keys `,` $sink `,` $output `,` $log_sum
    (`from` $first_query^)? (`over` $entries^)? (`at` $indices^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Mf_EntrySharesOp : Mf_ComputeOp<"entry_shares", "mfEntryShares",
    (ins Mf_FloatTensor:$query, Mf_FloatTensor:$entries,
         Mf_IndexTensor:$indices, Mf_FloatTensor:$log_sum),
    (ins F64Attr:$scale), (outs Mf_FloatTensor:$result),
    [Mf_PiecewiseConstant]> {
  let summary = "the mean over heads of the probabilities of chosen entries";
  let description = [{
    The operands are those of mf.hybrid_attention and its `log_sum`. The result, in the
    shape of `indices` in fp32, is the mean over heads of exp(`scale` * query * entry -
    log_sum), and 0 where an index names no entry. It is the target of an indexer,
    through which no gradient flows.

    ```mlir
    %t = mf.entry_shares %q, %e, %chosen, %log_sum {name = "self_attention.core_attention.entry_shares", scale = 5.000000e-01 : f64}
        : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x1xi32>, tensor<1x4x2xf32>) -> tensor<1x4x1xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$query,
                                 "::mlir::Value":$entries,
                                 "::mlir::Value":$indices,
                                 "::mlir::Value":$logSum, "double":$scale)>];
}

def Mf_LightningIndexerOp : Mf_HybridOp<"lightning_indexer",
    "mfLightningIndexer", "mfLightningIndexerPart",
    (ins Mf_FloatTensor:$query, Mf_FloatTensor:$keys, Mf_FloatTensor:$weights,
         Optional<Mf_IndexTensor>:$first_query),
    (ins I64Attr:$ratio, I64Attr:$k, F64Attr:$unseen),
    (outs Mf_FloatTensor:$values, Mf_IndexTensor:$indices),
    [Mf_Differentiable, Mf_OwnShardingRuleWith<["localize"]>]> {
  let trainer = [{
    for (::mlir::Value value : {getQuery(), getKeys(), getWeights()})
      tape.keep(value);
    tape.keepFor(getIndices(), getQuery());
   }];
  let summary = "the entries with the largest scores of an indexer";
  let description = [{
    `query` is [batch, queries, heads, width], `keys` [batch, entries, width], and
    `weights` [batch, queries, heads]. The score of an entry is the sum over heads of
    weight * max(query * key, 0), in fp32. The results are the `k` largest scores of the
    entries that the query sees (mf.hybrid_attention says which, and what `first_query`
    is) in descending order, and their indices. Of equal scores the one with the lower index
    comes first. Behind the last visible entry scores are `unseen` and indices -1.

    Gradients flow through the scores that were chosen. Backward computes their products
    again.

    ```mlir
    %scores, %chosen = mf.lightning_indexer %q, %k, %w {k = 1 : i64, name = "self_attention.core_attention.indexer.topk", ratio = 2 : i64, unseen = -1.000000e+30 : f64}
        : (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>, tensor<1x4x2xf32>)
        -> (tensor<1x4x1xf32>, tensor<1x4x1xi32>)
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$keys,
                                 "::mlir::Value":$weights, "int64_t":$ratio,
                                 "int64_t":$k, "double":$unseen)>];
}

def Mf_LightningIndexerGradOp : Mf_ComputeOp<"lightning_indexer_grad",
    "mfLightningIndexerGrad",
    (ins Mf_FloatTensor:$values_gradient, Mf_FloatTensor:$query,
         Mf_FloatTensor:$keys, Mf_FloatTensor:$weights,
         Mf_IndexTensor:$indices), (ins),
    (outs Mf_FloatTensor:$query_gradient, Mf_FloatTensor:$keys_gradient,
          Mf_FloatTensor:$weights_gradient),
    [AllTypesMatch<["query", "query_gradient"]>,
     AllTypesMatch<["keys", "keys_gradient"]>,
     AllTypesMatch<["weights", "weights_gradient"]>]> {
  let summary = "gradients of mf.lightning_indexer";
  let description = [{
    Computes the gradients of queries, keys and weights from those of the scores that
    were chosen. An index below 0 has none.
  }];
}

#endif // MF_HYBRID_ATTENTION_OPS_TD
