//===- AscendProductKernels.td - Matrix products and attention -*- tablegen -*-===//
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendKernelBase.td"

//===----------------------------------------------------------------------===//
// Matrix products and attention
//===----------------------------------------------------------------------===//

def Matmul : Kernel<"aclnnMatmul", "makeMatmul"> {
  let cannBody = [{
    // A matrix is shared by all rows; else the last two dimensions are the matrices.
    const bool isFlat = contract_batch || (mat2.dims.size() == 2 && !transpose_a);
    stream.require(!contract_batch || (transpose_a && !transpose_b),
                   "expected a product that sums over the batch with transpose_a "
                   "alone");
    const CannTensor left = isFlat ? makeMatrix(self) : self;
    const CannTensor right = isFlat ? makeMatrix(mat2) : mat2;
    stream.call(MF_CANN(aclnnMatmul),
                tensor(transpose_a ? transpose(left) : left),
                tensor(transpose_b ? transpose(right) : right),
                tensor(isFlat ? makeMatrix(out) : out), int8_t{0});}];
  let summary = "matrix product over the last two dimensions";
  let parts = "getMatmulParts(spec)";
  let description = [{`transpose_a` and `transpose_b` say that an operand is
    stored with its last two dimensions swapped: strides of aclnn's tensors. A
    matrix `mat2` is shared by all of self's leading dimensions.
    `contract_batch` sums over those as well, as for views that join them with
    the rows.}];
  let inputs = (ins In:$self, In:$mat2);
  let outputs = (outs Out:$out);
  let attributes = (attrs OptionalBool:$transpose_a, OptionalBool:$transpose_b,
                          OptionalBool:$contract_batch);
  let engine = Cube;
  let kind = "matmul";
  let flops = "getMatmulFlops(spec)";
  let measures = [Measure<"batch", "getMatmulSize(spec).batch">,
                  Measure<"rows", "getMatmulSize(spec).rows">,
                  Measure<"inner", "getMatmulSize(spec).inner">,
                  Measure<"columns", "getMatmulSize(spec).columns">];
  let profiled = ["MatMul", "MatMulV2", "MatMulV3", "BatchMatMul",
                  "BatchMatMulV2", "BatchMatMulV3"];
  let fromProfile = "takeProfiledMatmul(spec)";
}

// FLOPs of causal attention count the keys that are seen, about half if there
// are as many queries as keys, so that `causal` needs no factor in a target's
// rate. Full FLOPs count all pairs of a query and a key. `products` are the
// numbers of products over the head size of keys and over that of values.
class AttentionKernel<string kernelName, string kernelFactory, string products>
    : Kernel<kernelName, kernelFactory> {
  let engine = Cube;
  let flops = "getAttentionFlops(spec, " # products # ")";
  let fullFlops = "getFullAttentionFlops(spec, " # products # ")";
  let measures = [Measure<"keys", "getRowsOfMatrix(spec.inputs[1])">,
                  Measure<"queries", "getRowsOfMatrix(spec.inputs[0])">,
                  Measure<"head_size", "getColumns(spec.inputs[0])">,
                  Measure<"query_rows", "getQueryRows(spec)">];
}

class AttentionScoreKernel<string kernelName>
    : AttentionKernel<kernelName, "makeFlashAttention", "1, 1"> {
  let kind = "attention";
}

// Each of the two products of forward has two gradients, and the scores are
// computed once more.
class AttentionGradKernel<string kernelName>
    : AttentionKernel<kernelName, "makeFlashAttentionGrad", "3, 2"> {
  let kind = "attention_grad";
}

def DocumentStarts : Kernel<"mfDocumentStarts", "makeDocumentStarts"> {
  let summary = "where the document of each token starts";
  let parts = "bS -> bS";
  let description = [{Of tokens [batch, sequence]: 0 up to the first `end` of a
    sequence, behind it the position behind the last `end`. MindSpore's
    data set gives them as an input; ours.}];
  let inputs = (ins In:$tokens);
  let outputs = (outs OutOrSameAs<["tokens"]>:$starts);
  let attributes = (attrs Int:$end);
  let kind = "reduction";
}

def DocumentMask : Kernel<"mfDocumentMask", "makeDocumentMask"> {
  let summary = "what hides the keys before a query's document";
  let parts = "bq -> bIqK";
  let description = [{`starts` are [batch, queries], the mask [batch, 1, queries,
    keys] is `value` for a key before the start, else 0: ours.}];
  let inputs = (ins In:$starts);
  let outputs = (outs Out:$mask);
  let attributes = (attrs Double:$value);
  let kind = "elementwise";
}

def PrefixPositions : Kernel<"mfPrefixPositions", "makePrefixPositions"> {
  let summary = "positions of tokens in the prefix of their sample and behind it";
  let parts = "bS -> bS, bS";
  let description = [{Of tokens [batch, sequence], whose prefix ends before the
    first token `begin` and has one token at least: `within` counts from 0 to the
    prefix's last position and stays there, `behind` is 0 in the prefix and
    counts from 1 behind it. MindSpore's data set gives them as an input; ours.}];
  let inputs = (ins In:$tokens);
  let outputs = (outs Out:$within, Out:$behind);
  let attributes = (attrs Int:$begin);
  let kind = "reduction";
}

def PrefixMask : Kernel<"mfPrefixMask", "makePrefixMask"> {
  let summary = "what hides later keys that are not in the prefix";
  let parts = "bK -> bIQK";
  let description = [{`behind` are [batch, sequence] as mfPrefixPositions makes
    them, the mask [batch, 1, sequence, sequence] is `value` for a key behind the
    prefix that is later than the query, else 0: ours.}];
  let inputs = (ins In:$behind);
  let outputs = (outs Out:$mask);
  let attributes = (attrs Double:$value);
  let kind = "elementwise";
}

def FlashAttentionScore : AttentionScoreKernel<"aclnnFlashAttentionScore"> {
  let cannBody = [{
    const AttentionExtras extras({slopes, dropMask, starts});
    stream.require(!extras.starts.isThere(),
                   "expected attention without documents");
    // CANN has maxima and sums eight times over, of which one is kept.
    const CannTensor maxima = stream.makeScratch(repeatDims(softmaxMax, 8), ACL_FLOAT);
    const CannTensor sums = stream.makeScratch(repeatDims(softmaxSum, 8), ACL_FLOAT);
    const CannTensor none = empty(query.type);
    char layout[] = "BNSD";
    stream.call(MF_CANN(aclnnFlashAttentionScoreV2), tensor(query), tensor(key),
                tensor(value), tensor(extras.slopes), tensor(extras.dropMask), nullptr,
                tensor(causal ? stream.getCausalMask() : CannTensor()), nullptr,
                nullptr, nullptr, scale, 1 - rate, allTokens, allTokens,
                query.dims[1], layout, int64_t{0}, int64_t{causal ? 2 : 0},
                int64_t{extras.slopes.isThere() ? 2 : 1}, tensor(maxima), tensor(sums), tensor(none),
                tensor(attentionOut));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(withColumn(softmaxMax)),
                tensor(takeColumn(maxima)));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(withColumn(softmaxSum)),
                tensor(takeColumn(sums)));}];
  let cannHeaders = ["flash_attention_score", "copy"];
  let summary = "softmax(scale * query key^T) value, in tiles";
  let parts = "getAttentionParts(spec, false)";
  let description = [{Operands are [batch, heads, sequence, dim] (BNSD); softmax
    maxima and sums are [batch, heads, sequence], which aclnn has eight times
    over in a last dimension. `slopes` of ALiBi are pse of V2's pseType 2.
    `causal` is a sparse mode that sees the keys up to the query's own. Where
    `dropMask`, [batch, heads, queries, keys], is 1, a probability counts divided
    by 1 - `rate`, which is aclnn's keepProb; elsewhere it does not. `starts`,
    [batch, queries], are the first key that each query sees: aclnn has a mask
    of all pairs, attenMask, in their place.}];
  let inputs = (ins In:$query, In:$key, In:$value, OptionalIn:$slopes, OptionalIn:$dropMask,
                    OptionalIn:$starts);
  let outputs = (outs Out:$softmaxMax, Out:$softmaxSum, Out:$attentionOut);
  let attributes = (attrs Double:$scale, OptionalBool:$causal,
                          OptionalDouble:$rate);
  let profiled = ["FlashAttentionScore"];
  let fromProfile = "takeProfiledAttention(spec)";
}

def FlashAttentionScoreGrad
    : AttentionGradKernel<"aclnnFlashAttentionScoreGrad"> {
  let cannBody = [{
    const AttentionExtras extras({slopes, dropMask, starts});
    stream.require(!extras.starts.isThere(),
                   "expected attention without documents");
    const CannTensor maxima = stream.makeScratch(repeatDims(softmaxMax, 8), ACL_FLOAT);
    const CannTensor sums = stream.makeScratch(repeatDims(softmaxSum, 8), ACL_FLOAT);
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(maxima),
                tensor(withColumn(softmaxMax)));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(sums),
                tensor(withColumn(softmaxSum)));
    const CannTensor none = empty(query.type);
    char layout[] = "BNSD";
    stream.call(MF_CANN(aclnnFlashAttentionScoreGradV2), tensor(query),
                tensor(key), tensor(value), tensor(dy), tensor(extras.slopes),
                tensor(extras.dropMask), nullptr,
                tensor(causal ? stream.getCausalMask() : CannTensor()),
                tensor(maxima), tensor(sums), nullptr, tensor(attentionIn),
                nullptr, nullptr, nullptr, scale, 1 - rate, allTokens, allTokens,
                query.dims[1], layout, int64_t{0}, int64_t{causal ? 2 : 0},
                int64_t{extras.slopes.isThere() ? 2 : 1}, tensor(dq), tensor(dk), tensor(dv), tensor(none));}];
  let cannHeaders = ["flash_attention_score_grad", "copy"];
  let summary = "gradients of aclnnFlashAttentionScore";
  let parts = "getAttentionGradParts(spec, false)";
  let description = [{`slopes` are aclnn's pseShift, which stands behind dy
    there.}];
  let inputs = (ins In:$query, In:$key, In:$value, In:$dy, In:$softmaxMax,
                    In:$softmaxSum, In:$attentionIn, OptionalIn:$slopes, OptionalIn:$dropMask,
                    OptionalIn:$starts);
  let outputs = (outs Out:$dq, Out:$dk, Out:$dv);
  let attributes = (attrs Double:$scale, OptionalBool:$causal,
                          OptionalDouble:$rate);
  let profiled = ["FlashAttentionScoreGrad"];
  let fromProfile = "takeProfiledAttentionGrad(spec)";
}

def FlashAttentionPart : AttentionScoreKernel<"mfFlashAttentionPart"> {
  let summary = "aclnnFlashAttentionScore of part of the query rows";
  let parts = "getAttentionParts(spec, true)";
  let description = [{Query row i stands at position `firstQuery` + i, which
    decides the keys that it sees and its distances from them; the part lies
    inside the keys. Ranks of context parallel training run it with one program:
    on the device it is a sparse mode that reads its diagonal from memory. FLOPs
    of a causal part are those of the last one, which sees the most keys and
    which the other ranks wait for.}];
  let inputs = (ins In:$query, In:$key, In:$value, In:$firstQuery,
                    OptionalIn:$slopes, OptionalIn:$dropMask,
                    OptionalIn:$starts);
  let outputs = (outs Out:$softmaxMax, Out:$softmaxSum, Out:$attentionOut);
  let attributes = (attrs Double:$scale, OptionalBool:$causal,
                          OptionalDouble:$rate);
  let fromProfile = "takeProfiledAttention(spec)";
}

def FlashAttentionPartGrad
    : AttentionGradKernel<"mfFlashAttentionPartGrad"> {
  let summary = "gradients of mfFlashAttentionPart";
  let parts = "getAttentionGradParts(spec, true)";
  let description = [{`dk` and `dv` are what these query rows add to them.}];
  let inputs = (ins In:$query, In:$key, In:$value, In:$dy, In:$softmaxMax,
                    In:$softmaxSum, In:$attentionIn, In:$firstQuery,
                    OptionalIn:$slopes, OptionalIn:$dropMask,
                    OptionalIn:$starts);
  let outputs = (outs Out:$dq, Out:$dk, Out:$dv);
  let attributes = (attrs Double:$scale, OptionalBool:$causal,
                          OptionalDouble:$rate);
  let fromProfile = "takeProfiledAttentionGrad(spec)";
}
