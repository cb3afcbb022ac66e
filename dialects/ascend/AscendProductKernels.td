//===- AscendProductKernels.td - Matrix products and attention -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendCannCalls.td"
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
    stored with its last two dimensions swapped, which aclnn's tensors express by
    strides. A matrix `mat2` is shared by all of self's leading dimensions.
    `contract_batch` sums over the leading dimensions too, as if they were joined
    with the rows.}];
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
  let cannBody = [{
    // The start is the largest position after an end token that is not behind the
    // token.
    const int64_t rows = tokens.dims[0], length = tokens.dims[1];
    const CannTensor places = stream.makeScratch({length}, ACL_INT32);
    const CannTensor behind = stream.makeScratch(tokens.dims, ACL_INT32);
    const CannTensor indices = stream.makeScratch(tokens.dims, ACL_INT32);
    const CannTensor within = stream.makeScratch(tokens.dims, ACL_BOOL);
    const CannTensor before = stream.makeScratch({rows, length - 1}, ACL_INT32);
    const CannTensor none = stream.makeScratch({rows, 1}, ACL_INT32);
    stream.call(MF_CANN(aclnnArange), integer(1), integer(length + 1), integer(1),
                tensor(places));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(behind), tensor(places));
    stream.call(MF_CANN(aclnnNeScalar), tensor(tokens), integer(end), tensor(within));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(behind), tensor(within),
                integer(0));
    stream.call(MF_CANN(aclnnCummax), tensor(behind), int64_t{1}, tensor(behind),
                tensor(indices));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(none));
    stream.call(MF_CANN(aclnnSliceV2), tensor(behind), ints({0}), ints({length - 1}),
                ints({1}), ints({1}), tensor(before));
    stream.call(MF_CANN(aclnnCat), list({none, before}), int64_t{1}, tensor(starts));}];
  let cannHeaders = ["arange", "copy", "ne_scalar", "masked_fill_scalar", "cummax",
                     "zero", "slice_v2", "cat"];
  let summary = "where the document of each token starts";
  let parts = "bS -> bS";
  let description = [{Tokens and starts are [batch, sequence]. The start is 0 up to
    and including the first `end` of a sequence, and then the position after the
    last `end` before the token. MindSpore has starts as an input from its data
    set instead of a kernel.}];
  let inputs = (ins In:$tokens);
  let outputs = (outs OutOrSameAs<["tokens"]>:$starts);
  let attributes = (attrs Int:$end);
  let kind = "reduction";
}

def DocumentMask : Kernel<"mfDocumentMask", "makeDocumentMask"> {
  let cannBody = [{
    const CannTensor places = stream.makeScratch({mask.dims[3]}, ACL_INT32);
    const CannTensor hidden = stream.makeScratch(mask.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnArange), integer(0), integer(mask.dims[3]), integer(1),
                tensor(places));
    stream.call(MF_CANN(aclnnLtTensor), tensor(places),
                tensor(reshape(starts, {mask.dims[0], 1, mask.dims[2], 1})),
                tensor(hidden));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(mask));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(mask), tensor(hidden),
                scalar(value));}];
  let cannHeaders = ["arange", "lt_tensor", "zero", "masked_fill_scalar"];
  let summary = "what hides the keys before a query's document";
  let parts = "bq -> bIqK";
  let description = [{`starts` are [batch, queries], the mask [batch, 1, queries,
    keys] is `value` for a key before the start, else 0. CANN has no such kernel.}];
  let inputs = (ins In:$starts);
  let outputs = (outs Out:$mask);
  let attributes = (attrs Double:$value);
  let kind = "elementwise";
}

def PrefixPositions : Kernel<"mfPrefixPositions", "makePrefixPositions"> {
  let cannBody = [{
    // A token is behind the prefix if it or one before it begins the rest, but for
    // the first one. Where nothing begins the rest all other tokens are behind it.
    const int64_t rows = tokens.dims[0], length = tokens.dims[1];
    const CannTensor places = stream.makeScratch({length}, ACL_INT32);
    const CannTensor all = stream.makeScratch(tokens.dims, ACL_INT32);
    const CannTensor begins = stream.makeScratch(tokens.dims, ACL_INT32);
    const CannTensor indices = stream.makeScratch(tokens.dims, ACL_INT32);
    const CannTensor others = stream.makeScratch(tokens.dims, ACL_BOOL);
    const CannTensor first = stream.makeScratch({length}, ACL_BOOL);
    const CannTensor last = stream.makeScratch({rows, 1}, ACL_INT32);
    const CannTensor missing = stream.makeScratch({rows, 1}, ACL_BOOL);
    // The numbers of tokens are small enough to be exact in fp32.
    const CannTensor counted = stream.makeScratch(tokens.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnArange), integer(0), integer(length), integer(1),
                tensor(places));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(all), tensor(places));
    stream.call(MF_CANN(aclnnNeScalar), tensor(tokens), integer(begin), tensor(others));
    stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(begins), integer(1));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(begins), tensor(others),
                integer(0));
    stream.call(MF_CANN(aclnnCummax), tensor(begins), int64_t{1}, tensor(begins),
                tensor(indices));
    stream.call(MF_CANN(aclnnSliceV2), tensor(begins), ints({length - 1}), ints({length}),
                ints({1}), ints({1}), tensor(last));
    stream.call(MF_CANN(aclnnLtScalar), tensor(last), integer(1), tensor(missing));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(begins), tensor(missing),
                integer(1));
    stream.call(MF_CANN(aclnnLtScalar), tensor(places), integer(1), tensor(first));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(begins), tensor(first),
                integer(0));
    stream.call(MF_CANN(aclnnCast), tensor(begins), ACL_FLOAT, tensor(counted));
    stream.call(MF_CANN(aclnnCumsum), tensor(counted), int64_t{1}, ACL_FLOAT,
                tensor(counted));
    stream.call(MF_CANN(aclnnCast), tensor(counted), ACL_INT32, tensor(behind));
    stream.call(MF_CANN(aclnnSub), tensor(all), tensor(behind), integer(1),
                tensor(within));}];
  let cannHeaders = ["arange", "copy", "ne_scalar", "fill_scalar", "masked_fill_scalar",
                     "cummax", "slice_v2", "lt_scalar", "cast", "cumsum", "sub"];
  let summary = "positions of tokens in the prefix of their sample and behind it";
  let parts = "bS -> bS, bS";
  let description = [{All tensors are [batch, sequence]. The prefix of a sample
    ends before its first token `begin` and has at least one token. `within`
    counts from 0 to the prefix's last position and stays constant after it.
    `behind` is 0 in the prefix and counts from 1 after it. MindSpore has both as
    inputs from its data set instead of a kernel.}];
  let inputs = (ins In:$tokens);
  let outputs = (outs Out:$within, Out:$behind);
  let attributes = (attrs Int:$begin);
  let kind = "reduction";
}

def PrefixMask : Kernel<"mfPrefixMask", "makePrefixMask"> {
  let cannBody = [{
    // A key of the prefix counts as before all queries.
    const int64_t rows = mask.dims[0], length = mask.dims[3];
    const CannTensor places = stream.makeScratch({length}, ACL_INT32);
    const CannTensor own = stream.makeScratch(behind.dims, ACL_INT32);
    const CannTensor inPrefix = stream.makeScratch(behind.dims, ACL_BOOL);
    const CannTensor hidden = stream.makeScratch(mask.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnArange), integer(0), integer(length), integer(1),
                tensor(places));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(own), tensor(places));
    stream.call(MF_CANN(aclnnLtScalar), tensor(behind), integer(1), tensor(inPrefix));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(own), tensor(inPrefix),
                integer(0));
    stream.call(MF_CANN(aclnnGtTensor), tensor(reshape(own, {rows, 1, 1, length})),
                tensor(withColumn(places)), tensor(hidden));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(mask));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(mask), tensor(hidden),
                scalar(value));}];
  let cannHeaders = ["arange", "copy", "lt_scalar", "masked_fill_scalar", "gt_tensor",
                     "zero"];
  let summary = "what hides later keys that are not in the prefix";
  let parts = "bK -> bIQK";
  let description = [{`behind` are [batch, sequence] as mfPrefixPositions makes
    them. The mask [batch, 1, sequence, sequence] is `value` for a key behind the
    prefix that is later than the query, else 0. CANN has no such kernel.}];
  let inputs = (ins In:$behind);
  let outputs = (outs Out:$mask);
  let attributes = (attrs Double:$value);
  let kind = "elementwise";
}

def FlashAttentionScore : AttentionScoreKernel<"aclnnFlashAttentionScore"> {
  defvar attentionMask = AttentionMask<"keys - queries", "3">;
  defvar attentionCall = AttentionCall<>;
  let cannBody = attentionMask.text # attentionCall.text;
  let cannHeaders = attentionMask.headers # attentionCall.headers;
  let summary = "softmax(scale * query key^T) value, in tiles";
  let parts = "getAttentionParts(spec, false)";
  let description = [{Operands are [batch, heads, sequence, dim] (BNSD); softmax
    maxima and sums are [batch, heads, sequence], where aclnn repeats each eight
    times in a last dimension. `slopes` of ALiBi are aclnn's pse with pseType 2.
    `causal` is a sparse mode in which a query sees the keys up to its own
    position. Where `dropMask`, [batch, heads, queries, keys], is 1, a probability
    is divided by 1 - `rate`, which is aclnn's keepProb; elsewhere it is replaced
    by 0. `starts`, [batch, queries], are the first keys that queries see; aclnn
    has a mask of all pairs, attenMask, instead.}];
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
  defvar attentionMask = AttentionMask<"keys - queries", "3">;
  defvar attentionCall = AttentionGradCall<>;
  let cannBody = attentionMask.text # attentionCall.text;
  let cannHeaders = attentionMask.headers # attentionCall.headers;
  let summary = "gradients of aclnnFlashAttentionScore";
  let parts = "getAttentionGradParts(spec, false)";
  let description = [{`slopes` are aclnn's pseShift, which follows dy there.}];
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
  defvar attentionMask = AttentionMask<"stream.getPosition(firstQuery)", "4">;
  defvar attentionCall = AttentionCall<>;
  let cannBody = attentionMask.text # attentionCall.text;
  let cannHeaders = attentionMask.headers # attentionCall.headers;
  let summary = "aclnnFlashAttentionScore of part of the query rows";
  let parts = "getAttentionParts(spec, true)";
  let description = [{Query row i has the position `firstQuery` + i, which
    decides the keys that it sees and its distances from them. All positions are
    those of keys. `firstQuery` is a tensor, so that all ranks of context parallel
    training run one program. FLOPs of a causal part are those of the last part,
    which sees the most keys and for which the other ranks wait.}];
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
  defvar attentionMask = AttentionMask<"stream.getPosition(firstQuery)", "4">;
  defvar attentionCall = AttentionGradCall<>;
  let cannBody = attentionMask.text # attentionCall.text;
  let cannHeaders = attentionMask.headers # attentionCall.headers;
  let summary = "gradients of mfFlashAttentionPart";
  let parts = "getAttentionGradParts(spec, true)";
  let description = [{`dk` and `dv` are the contributions of these query rows.}];
  let inputs = (ins In:$query, In:$key, In:$value, In:$dy, In:$softmaxMax,
                    In:$softmaxSum, In:$attentionIn, In:$firstQuery,
                    OptionalIn:$slopes, OptionalIn:$dropMask,
                    OptionalIn:$starts);
  let outputs = (outs Out:$dq, Out:$dk, Out:$dv);
  let attributes = (attrs Double:$scale, OptionalBool:$causal,
                          OptionalDouble:$rate);
  let fromProfile = "takeProfiledAttentionGrad(spec)";
}
