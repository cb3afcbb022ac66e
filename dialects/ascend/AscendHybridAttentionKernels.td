//===- AscendHybridAttentionKernels.td - Window and entries -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td: attention of DeepSeek-V4, whose queries see the keys
// of a window and entries that pool tokens. Queries are [batch, queries, heads,
// width], keys and entries [batch, rows, width]. Kernels of a rank that has a part
// of the queries have the position of the first one, `firstQuery`. Keys may also be
// [batch, blocks, rows, width]: those of each block of tokens behind the keys of the
// window that are before the block.
//
//===----------------------------------------------------------------------===//

// Programs on CANN call the kernels of CANN 9.1 for Atlas A2 and A3. Sizes that
// those kernels do not take are refused.

// Computes the sizes of queries, and the tokens up to the last query, `seen`. CANN's
// kernels take no positions: there the last query is that of the last key.
class HybridSizes<bit isPart> {
  // Ends the refusals.
  string wayOut = "; or set apply_dsa_kernel_fusion: False\"";
  string text = [{
    const int64_t batch = query.dims[0], numQueries = query.dims[1],
                  heads = query.dims[2], width = query.dims[3];
    const int64_t seen = numQueries + FIRST;
    stream.require(query.type != ACL_FLOAT,
                   "expected a compute_dtype of bfloat16 or float16}] # wayOut # [{);
}];
  string sizes = !subst("FIRST", !if(isPart, "stream.getPosition(firstQuery)",
                                     "int64_t{0}"), text);
}

// Computes the operands of attention that are not those of mf's kernel. Indices
// have 512 or 1024 places for each query, of which those behind the last one name
// no entry. If not all keys are seen, each sample has a call of its own, because its
// keys lie one after another. The kernels tell which entries a query sees from the
// number of keys. So with entries the keys of a block get zeros for all tokens before
// them, which no query of the block sees. Of the block's rows, `numOwn` are keys that
// its queries see, from `firstOwn` on.
class HybridOperands<bit isPart> {
  defvar of = HybridSizes<isPart>;
  string text = of.sizes # [{
    const bool hasBlocks = keys.dims.size() == 4;
    const bool hasEntries = entries.isThere();
    const int64_t numEntries = hasEntries ? std::min(entries.dims[1], seen / ratio) : 0;
    stream.require(width == 512, "expected a v_head_dim of 512}] # of.wayOut # [{);
    stream.require(heads <= 128 && (heads & (heads - 1)) == 0,
                   "expected a power of two up to 128 for num_attention_heads}]
                   # of.wayOut # [{);
    stream.require(window == 128 ||
                       (!hasBlocks && window < 128 && window == keys.dims[1]),
                   "expected a sliding_window of 128}] # of.wayOut # [{);
    stream.require(!hasEntries || ratio == (indices.isThere() ? 4 : 128),
                   "expected compress_ratios of 4 with an indexer, without "
                   "csa_dense_mode, and of 128}] # of.wayOut # [{);
    stream.require(!indices.isThere() || indices.dims.back() <= 1024,
                   "expected an index_topk up to 1024}] # of.wayOut # [{);
    CannTensor seenKeys = keys;
    Dims room, rows;
    int64_t numSeen = seen, numOwn = 0, firstOwn = 0;
    if (hasBlocks) {
      stream.require(keys.dims[1] == 1,
                     "expected one block of the sequence on each rank}] # of.wayOut # [{);
      const int64_t before = window - 1, first = seen - numQueries,
                    place = first % std::max<int64_t>(keys.dims[2] - before, 1),
                    there = std::min(before, first - place);
      numOwn = there + place + numQueries;
      firstOwn = before - there;
      numSeen = hasEntries ? seen : numOwn;
      rows = {batch, keys.dims[2], width};
      room = {batch, hasEntries ? entries.dims[1] * ratio : keys.dims[2], width};
      stream.require(numSeen <= room[1],
                     "expected parts of a sequence with whole groups of "
                     "compress_ratios}] # of.wayOut # [{);
      seenKeys = reshape(stream.makeScratch(room, keys.type), {batch, numSeen, width});
      stream.call(MF_CANN(aclnnInplaceZero), tensor(seenKeys));
      stream.call(MF_CANN(aclnnInplaceCopy),
                  tensor(takeRows(seenKeys, numSeen - numOwn, numOwn)),
                  tensor(takeRows(reshape(keys, rows), firstOwn, numOwn)));
    }
    CannTensor residual, chosen;
    if (hasEntries) {
      residual = stream.makeScratch({batch}, ACL_INT32);
      stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(residual),
                  integer(seen - numEntries * ratio));
    }
    if (indices.isThere()) {
      const int64_t given = indices.dims.back(), places = given <= 512 ? 512 : 1024;
      chosen = reshape(indices, {batch, numQueries, 1, given});
      if (given < places) {
        const CannTensor some = chosen;
        chosen = stream.makeScratch({batch, numQueries, 1, places}, ACL_INT32);
        stream.call(MF_CANN(aclnnConstantPadNd), tensor(some),
                    ints({0, places - given}), integer(-1), tensor(chosen));
      }
    }
    const CannTensor left{};
    const CannTensor &seenEntries = numEntries > 0 ? entries : left;
    const CannTensor &seenChosen = numEntries > 0 ? chosen : left;
    const CannTensor &seenResidual = numEntries > 0 ? residual : left;
    const int64_t compression = numEntries > 0 ? ratio : 1;
    const bool seesAll = numSeen == seenKeys.dims[1] &&
                         (!hasEntries || numEntries == entries.dims[1]);
    const int64_t samples = seesAll ? batch : 1;
    char layout[] = "BSND";
}];
  list<string> headers = ["zero", "copy", "fill_scalar", "constant_pad_nd"];
}

// `keys` is a C++ expression for the number of keys that a query sees, and
// `products` the number of products of queries and keys.
class HybridKernel<string kernelName, string kernelFactory, string keys,
                   string products> : Kernel<kernelName, kernelFactory> {
  let engine = Cube;
  let flops = "getHybridFlops(spec, " # keys # ", " # products # ")";
  let measures = [Measure<"keys", keys>,
                  Measure<"queries", "getSecondDimension(spec.inputs[0])">,
                  Measure<"head_size", "getColumns(spec.inputs[0])">,
                  Measure<"query_rows", "getQueryRows(spec)">];
}

// The operand that kernels of a part have in addition.
class FirstQuery<bit isPart> {
  dag operand = !if(isPart, (ins In:$firstQuery), (ins));
}

class HybridForward<string kernelName, bit isPart>
    : HybridKernel<kernelName, "makeHybridAttention",
                   "getHybridKeys(spec, 1, " # !if(isPart, "4", "3") # ")", "2"> {
  defvar operands = HybridOperands<isPart>;
  let cannBody = operands.text # [{
    const int64_t numChosen = seenChosen.isThere() ? seenChosen.dims.back() : 0;
    const CannTensor metadata = stream.makeScratch({1024}, ACL_INT32);
    stream.call(MF_CANN(aclnnSparseFlashMlaMetadata), nullptr, nullptr, nullptr,
                nullptr, nullptr, nullptr,
                tensor(takeSamples(seenResidual, 0, samples)), nullptr, nullptr, heads,
                int64_t{1}, width, samples, numQueries, numSeen, numEntries, int64_t{0},
                numChosen, compression, int64_t{4}, int64_t{3}, int64_t{127},
                int64_t{0}, layout, layout, true, numEntries > 0, tensor(metadata));
    for (int64_t first = 0; first < batch; first += samples)
      stream.call(MF_CANN(aclnnSparseFlashMla),
                  tensor(takeSamples(query, first, samples)),
                  tensor(withHead(takeSamples(seenKeys, first, samples, numSeen))),
                  tensor(withHead(takeSamples(seenEntries, first, samples, numEntries))),
                  nullptr, tensor(takeSamples(seenChosen, first, samples)), nullptr,
                  nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                  tensor(takeSamples(seenResidual, first, samples)), nullptr, nullptr,
                  tensor(sink), tensor(metadata), scale, compression, int64_t{4},
                  int64_t{3}, int64_t{127}, int64_t{0}, layout, layout, int64_t{1}, true,
                  tensor(takeSamples(out, first, samples)),
                  tensor(reshape(takeSamples(logSum, first, samples),
                                 {samples, 1, numQueries, heads})));}];
  let cannHeaders = operands.headers #
                    ["sparse_flash_mla_metadata", "sparse_flash_mla"];
  let parts = "getHybridParts(spec, 1, \"" #
              !if(isPart, "bsND, bKD, N, @sK, bGD, bsC -> bsND, bsN",
                  "bSND, bKD, N, bGD, bSC -> bSND, bSN") # "\")";
  let inputs = !con((ins In:$query, In:$keys, In:$sink), FirstQuery<isPart>.operand,
                    (ins OptionalIn:$entries, OptionalIn:$indices));
  let outputs = (outs Out:$out, Out:$logSum);
  let attributes = (attrs Int:$window, Int:$ratio, Double:$scale);
  let kind = "attention";
}

def HybridAttention : HybridForward<"mfHybridAttention", false> {
  let summary = "attention over a window and entries, with a sink for each head";
  let description = [{The query at position p sees the keys from p - `window` + 1 to
    p, and the entries g with (g + 1) * `ratio` <= p + 1; with `indices`, those of
    them that it names. Keys and entries are also the values. `logSum` is the
    logarithm of the sum of exponentials, the sink's among them. Keys may be [batch,
    blocks, `window` - 1 + tokens of a block, width]: those of each block behind the
    last ones before it.}];
}

def HybridAttentionPart : HybridForward<"mfHybridAttentionPart", true> {
  let summary = "mfHybridAttention of part of the queries";
  let description = [{Query i has the position `firstQuery` + i. All positions are
    those of keys.}];
}

// On Atlas A2 and A3 CANN refuses the kernel in its deterministic mode. Besides the
// gradients it computes means of probabilities, which are left out.
class HybridBackward<string kernelName, bit isPart>
    : HybridKernel<kernelName, "makeHybridAttentionGrad",
                   "getHybridKeys(spec, 2, " # !if(isPart, "7", "6") # ")", "5"> {
  defvar operands = HybridOperands<isPart>;
  let cannBody = operands.text # [{
    const CannTensor gradRows = gradEntries.empty() ? left : gradEntries.front();
    const CannTensor &seenGradRows = numEntries > 0 ? gradRows : left;
    CannTensor means, ownSink = gradSink;
    if (chosen.isThere())
      means = stream.makeScratch(chosen.dims, ACL_FLOAT);
    const CannTensor &seenMeans = numEntries > 0 ? means : left;
    CannTensor seenGrad = gradKeys;
    if (hasBlocks)
      seenGrad = reshape(stream.makeScratch(room, keys.type), seenKeys.dims);
    const bool addsUp = hasBlocks || numQueries < keys.dims[1];
    if (addsUp) {
      ownSink = stream.makeScratch(sink.dims, ACL_FLOAT);
      stream.call(MF_CANN(aclnnInplaceZero), tensor(gradKeys));
      stream.call(MF_CANN(aclnnInplaceZero), tensor(gradSink));
      if (hasEntries)
        stream.call(MF_CANN(aclnnInplaceZero), tensor(gradRows));
    }
    stream.allowAnyOrder();
    for (int64_t first = 0; first < batch; first += samples) {
      stream.call(MF_CANN(aclnnSparseFlashMlaGrad),
                  tensor(takeSamples(query, first, samples)),
                  tensor(takeSamples(gradOut, first, samples)),
                  tensor(takeSamples(out, first, samples)),
                  tensor(reshape(takeSamples(logSum, first, samples),
                                 {samples, 1, numQueries, heads})),
                  tensor(withHead(takeSamples(seenKeys, first, samples, numSeen))),
                  tensor(withHead(takeSamples(seenEntries, first, samples, numEntries))),
                  nullptr, tensor(takeSamples(seenChosen, first, samples)), nullptr,
                  nullptr, nullptr, nullptr, nullptr, nullptr,
                  tensor(takeSamples(seenResidual, first, samples)), nullptr, nullptr,
                  tensor(sink), nullptr, scale, compression, int64_t{4}, int64_t{3},
                  int64_t{127}, int64_t{0}, layout, layout,
                  tensor(takeSamples(gradQuery, first, samples)),
                  tensor(withHead(takeSamples(seenGrad, first, samples, numSeen))),
                  tensor(withHead(takeSamples(seenGradRows, first, samples, numEntries))),
                  tensor(ownSink), nullptr,
                  tensor(takeSamples(seenMeans, first, samples)));
      if (addsUp)
        stream.call(MF_CANN(aclnnInplaceAdd), tensor(gradSink), tensor(ownSink),
                    scalar(1));
    }
    if (hasBlocks)
      stream.call(MF_CANN(aclnnInplaceCopy),
                  tensor(takeRows(reshape(gradKeys, rows), firstOwn, numOwn)),
                  tensor(takeRows(seenGrad, numSeen - numOwn, numOwn)));
  }];
  let cannHeaders = operands.headers # ["sparse_flash_mla_grad", "add"];
  let parts = "getHybridParts(spec, 2, \"" #
      !if(isPart,
          "+bsND, bsND, bKD, N, bsND, bsN, @sK, bGD, bsC -> bsND, bKD, N, bGD",
          "+bSND, bSND, bKD, N, bSND, bSN, bGD, bSC -> bSND, bKD, N, bGD") # "\")";
  let inputs = !con((ins In:$gradOut, In:$query, In:$keys, In:$sink, In:$out,
                         In:$logSum), FirstQuery<isPart>.operand,
                    (ins OptionalIn:$entries, OptionalIn:$indices));
  let outputs = (outs Out:$gradQuery, Out:$gradKeys, Out:$gradSink,
                      OptionalVariadicOut:$gradEntries);
  let attributes = (attrs Int:$window, Int:$ratio, Double:$scale);
  let kind = "attention_grad";
  let workspace = "getHybridGradWorkspace(spec, " # !if(isPart, "7", "6") # ")";
}

def HybridAttentionGrad : HybridBackward<"mfHybridAttentionGrad", false> {
  let summary = "gradients of mfHybridAttention";
}

def HybridAttentionPartGrad : HybridBackward<"mfHybridAttentionPartGrad", true> {
  let summary = "gradients of mfHybridAttentionPart";
  let description = [{`gradKeys`, `gradSink` and `gradEntries` are the contributions of
    these queries.}];
}

// CANN has the kernel aclnnSparseFlashMlaSoftmaxL1Norm for Ascend 950 only, and
// aclnnLightningIndexerV2 for Atlas A2 and A3 only. Here each head has its products
// with all entries, in fp32, so that no more than two tensors of all pairs of a
// query and an entry are there at a time.
def EntryShares : HybridKernel<"mfEntryShares", "makeEntryShares",
                               "getColumns(spec.inputs[2])", "1"> {
  defvar rows = RowsOf<"entries", "indices">;
  let cannBody = [{
    const int64_t heads = query.dims[2], count = entries.dims[1];
    const Dims pairs = {query.dims[0], query.dims[1], count};
}] # rows.text # [{
    const CannTensor wideEntries = stream.makeFloat(entries);
    const CannTensor own = stream.makeScratch(takeHead(query, 0).dims, query.type);
    const CannTensor wide = stream.makeFloat(own);
    const CannTensor logarithm = stream.makeScratch({pairs[0], pairs[1], 1}, ACL_FLOAT);
    const CannTensor scores = stream.makeScratch(pairs, ACL_FLOAT);
    const CannTensor sums = stream.makeScratch(pairs, ACL_FLOAT);
    if (entries.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(entries), ACL_FLOAT, tensor(wideEntries));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(sums));
    for (int64_t head = 0; head < heads; ++head) {
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(own), tensor(takeHead(query, head)));
      if (query.type != ACL_FLOAT)
        stream.call(MF_CANN(aclnnCast), tensor(own), ACL_FLOAT, tensor(wide));
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(logarithm),
                  tensor(takeHead(withColumn(logSum), head)));
      stream.call(MF_CANN(aclnnBatchMatMul), tensor(wide),
                  tensor(transpose(wideEntries)), tensor(scores), int8_t{0});
      stream.call(MF_CANN(aclnnMuls), tensor(scores), scalar(scale), tensor(scores));
      stream.call(MF_CANN(aclnnSub), tensor(scores), tensor(logarithm), scalar(1),
                  tensor(scores));
      stream.call(MF_CANN(aclnnExp), tensor(scores), tensor(scores));
      stream.call(MF_CANN(aclnnInplaceAdd), tensor(sums), tensor(scores), scalar(1));
    }
    stream.call(MF_CANN(aclnnGather), tensor(sums), int64_t{2}, tensor(local),
                tensor(out));
    stream.call(MF_CANN(aclnnDivs), tensor(out), scalar(static_cast<double>(heads)),
                tensor(out));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(out), tensor(outside),
                scalar(0));}];
  let cannHeaders = rows.headers # ["cast", "zero", "batch_matmul", "mul", "sub", "exp",
                                    "add", "gather", "div"];
  let summary = "mean over heads of the probabilities of chosen entries";
  let parts = "bsND, bGD, bsC, bsN -> bsC";
  let description = "An index below 0 has a share of 0.";
  let inputs = (ins In:$query, In:$entries, In:$indices, In:$logSum);
  let outputs = (outs Out:$out);
  let attributes = (attrs Double:$scale);
  let kind = "attention";
}

// CANN fills scores behind the last visible entry with minus infinity. A rank whose
// queries are before the first complete entry calls nothing.
class Indexer<string kernelName, bit isPart>
    : HybridKernel<kernelName, "makeLightningIndexer",
                   "getSecondDimension(spec.inputs[1])", "1"> {
  defvar of = HybridSizes<isPart>;
  let cannBody = of.sizes # [{
    const int64_t numEntries = std::min(keys.dims[1], seen / ratio);
    stream.require(width == 128, "expected an index_head_dim of 128}] # of.wayOut # [{);
    stream.require(heads <= 64, "expected up to 64 for index_n_heads}] # of.wayOut # [{);
    stream.require(k <= 2048 || (k <= 8192 && k % 1024 == 0),
                   "expected an index_topk up to 2048, or a multiple of 1024 up to 8192}]
                   # of.wayOut # [{);
    const CannTensor residual = stream.makeScratch({batch}, ACL_INT32);
    const CannTensor wideWeights = stream.makeFloat(weights);
    const int64_t samples = numEntries == keys.dims[1] ? batch : 1;
    const Dims places = {samples, numQueries, 1, k};
    char layout[] = "BSND";
    stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(residual),
                integer(seen - numEntries * ratio));
    if (weights.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(weights), ACL_FLOAT, tensor(wideWeights));
    for (int64_t first = 0; numEntries > 0 && first < batch; first += samples)
      stream.call(MF_CANN(aclnnLightningIndexerV2),
                  tensor(takeSamples(query, first, samples)),
                  tensor(withHead(takeSamples(keys, first, samples, numEntries))),
                  tensor(takeSamples(wideWeights, first, samples)), nullptr, nullptr,
                  nullptr, nullptr, tensor(takeSamples(residual, first, samples)),
                  nullptr, nullptr, nullptr, k, int64_t{-1}, layout, layout, int64_t{3},
                  ratio, int64_t{1},
                  tensor(reshape(takeSamples(indices, first, samples), places)),
                  tensor(reshape(takeSamples(values, first, samples), places)));
    if (numEntries == 0) {
      stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(values), scalar(unseen));
      stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(indices), integer(-1));
    }
    stream.call(MF_CANN(aclnnClampMin), tensor(values), scalar(unseen), tensor(values));}];
  let cannHeaders = ["fill_scalar", "cast", "lightning_indexer_v2", "clamp"];
  let parts = !if(isPart, "bsND, bGD, bsN, @s -> bsC, bsC",
                  "bSND, bGD, bSN -> bSC, bSC");
  let inputs = !con((ins In:$query, In:$keys, In:$weights), FirstQuery<isPart>.operand);
  let outputs = (outs Out:$values, Out:$indices);
  let attributes = (attrs Int:$ratio, Int:$k, Double:$unseen);
  let kind = "attention";
}

def LightningIndexer : Indexer<"mfLightningIndexer", false> {
  let summary = "entries with the largest sums over heads of weight * relu(query key)";
  let description = [{The query at position p sees the entries g with (g + 1) * `ratio`
    <= p + 1. Of equal scores the lower index comes first. Behind the last visible
    entry, scores are `unseen` and indices -1.}];
}

def LightningIndexerPart : Indexer<"mfLightningIndexerPart", true> {
  let summary = "mfLightningIndexer of part of the queries";
  let description = "Query i has the position `firstQuery` + i.";
}

// CANN's aclnnSparseLightningIndexerKLLossGrad has the gradients of a loss, whereas
// these are the gradients of any function of the scores. They are scattered to all
// entries, and each head has its products with all entries, in fp32.
def LightningIndexerGrad
    : HybridKernel<"mfLightningIndexerGrad", "makeLightningIndexerGrad",
                   "getColumns(spec.inputs[0])", "3"> {
  defvar rows = RowsOf<"keys", "indices">;
  let cannBody = [{
    const int64_t batch = query.dims[0], numQueries = query.dims[1],
                  heads = query.dims[2], width = query.dims[3], count = keys.dims[1];
    const Dims pairs = {batch, numQueries, count}, ofQuery = {batch, numQueries, width};
}] # rows.text # [{
    const CannTensor known = stream.makeScratch(gradValues.dims, ACL_FLOAT);
    const CannTensor slopes = stream.makeScratch(pairs, ACL_FLOAT);
    const CannTensor products = stream.makeScratch(pairs, ACL_FLOAT);
    const CannTensor parts = stream.makeScratch(pairs, ACL_FLOAT);
    const CannTensor inactive = stream.makeScratch(pairs, ACL_BOOL);
    const CannTensor own = stream.makeScratch(ofQuery, query.type);
    const CannTensor wide = stream.makeFloat(own);
    const CannTensor wideKeys = stream.makeFloat(keys);
    const CannTensor ownKeys = stream.makeScratch(keys.dims, ACL_FLOAT);
    const CannTensor sumKeys = stream.makeFloat(gradKeys);
    const CannTensor weight = stream.makeScratch({batch, numQueries, 1}, weights.type);
    const CannTensor wideWeight = stream.makeFloat(weight);
    const CannTensor byHead = stream.makeScratch({heads, batch, numQueries, width},
                                                 query.type);
    const CannTensor ofHeads = stream.makeScratch({heads, batch, numQueries}, ACL_FLOAT);
    const CannTensor wideWeights = stream.makeFloat(gradWeights);
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(known), tensor(gradValues));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(known), tensor(outside),
                scalar(0));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(slopes));
    stream.call(MF_CANN(aclnnScatterAdd), tensor(slopes), int64_t{2}, tensor(local),
                tensor(known), tensor(slopes));
    if (keys.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(keys), ACL_FLOAT, tensor(wideKeys));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(sumKeys));
    for (int64_t head = 0; head < heads; ++head) {
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(own), tensor(takeHead(query, head)));
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(weight),
                  tensor(takeHead(withColumn(weights), head)));
      if (query.type != ACL_FLOAT) {
        stream.call(MF_CANN(aclnnCast), tensor(own), ACL_FLOAT, tensor(wide));
        stream.call(MF_CANN(aclnnCast), tensor(weight), ACL_FLOAT, tensor(wideWeight));
      }
      stream.call(MF_CANN(aclnnBatchMatMul), tensor(wide), tensor(transpose(wideKeys)),
                  tensor(products), int8_t{0});
      stream.call(MF_CANN(aclnnClampMin), tensor(products), scalar(0), tensor(products));
      stream.call(MF_CANN(aclnnEqScalar), tensor(products), scalar(0), tensor(inactive));
      stream.call(MF_CANN(aclnnMul), tensor(slopes), tensor(products), tensor(parts));
      stream.call(MF_CANN(aclnnReduceSum), tensor(parts), ints({2}), false, ACL_FLOAT,
                  tensor(takePart(ofHeads, 2, head)));
      stream.call(MF_CANN(aclnnMul), tensor(slopes), tensor(wideWeight), tensor(parts));
      stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(parts), tensor(inactive),
                  scalar(0));
      stream.call(MF_CANN(aclnnBatchMatMul), tensor(transpose(parts)), tensor(wide),
                  tensor(ownKeys), int8_t{0});
      stream.call(MF_CANN(aclnnInplaceAdd), tensor(sumKeys), tensor(ownKeys), scalar(1));
      stream.call(MF_CANN(aclnnBatchMatMul), tensor(parts), tensor(wideKeys),
                  tensor(wide), int8_t{0});
      if (query.type != ACL_FLOAT)
        stream.call(MF_CANN(aclnnCast), tensor(wide), query.type,
                    tensor(takePart(byHead, 3, head)));
      else
        stream.call(MF_CANN(aclnnInplaceCopy), tensor(takePart(byHead, 3, head)),
                    tensor(wide));
    }
    stream.call(MF_CANN(aclnnPermute), tensor(byHead), ints({1, 2, 0, 3}),
                tensor(gradQuery));
    stream.call(MF_CANN(aclnnPermute), tensor(ofHeads), ints({1, 2, 0}),
                tensor(wideWeights));
    if (keys.type != ACL_FLOAT) {
      stream.call(MF_CANN(aclnnCast), tensor(sumKeys), keys.type, tensor(gradKeys));
      stream.call(MF_CANN(aclnnCast), tensor(wideWeights), weights.type,
                  tensor(gradWeights));
    }
  }];
  let cannHeaders = rows.headers # ["copy", "zero", "scatter_add", "cast",
                                    "batch_matmul", "clamp", "eq_scalar", "mul",
                                    "reduce_sum", "add", "permute"];
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
