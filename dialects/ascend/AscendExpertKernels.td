//===- AscendExpertKernels.td - Kernels of experts ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td: the kernels of a mixture of experts that follow its
// router. The number of rows of an expert is known only when a step runs, so
// counts are tensors. They are whole numbers in fp32. Values below 1 and NaNs
// count as 0, fractions are truncated, and rows beyond the size of a tensor are
// ignored.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendCannCalls.td"
include "dialects/ascend/AscendKernelBase.td"

//===----------------------------------------------------------------------===//
// Rows of tokens
//===----------------------------------------------------------------------===//

def GatherRows : Kernel<"mfGatherRows", "makeGatherRows"> {
  defvar rowsOfSelf = RowsOf<"self">;
  let cannBody = rowsOfSelf.text # [{
    for (int64_t i = 0; i < countParts(index, 1); ++i)
      stream.call(MF_CANN(aclnnIndexSelect), tensor(takePart(self, 2, i)),
                  int64_t{0}, tensor(takePart(local, 1, i)),
                  tensor(takePart(out, 2, i)));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(out),
                tensor(withColumn(outside)), scalar(0));}];
  let cannHeaders = rowsOfSelf.headers # ["index_select"];
  let summary = "rows of a tensor by index, in each batch";
  let parts = "+*Th, *m -> *mh";
  let description = [{self is [..., rows, width], index [..., places]. An index
    outside of the rows reads zeros. There is one index per row, where aclnn's
    gather has one per element.}];
  let inputs = (ins In:$self, In:$index);
  let outputs = (outs Out:$out);
  let kind = "permutation";
  let bytes = "spec.inputs[1].getBytes() + 2 * spec.outputs[0].getBytes()";
}

def GatherRowsBackward : Kernel<"mfGatherRowsBackward", "makeGatherRowsGrad"> {
  // An index outside adds zeros to the first row.
  defvar rowsOfGradient = RowsOf<"gradInput">;
  let cannBody = rowsOfGradient.text # [{
    const CannTensor kept = stream.makeScratch(gradOutput.dims, gradOutput.type);
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(kept), tensor(gradOutput));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(kept),
                tensor(withColumn(outside)), scalar(0));
    for (int64_t i = 0; i < countParts(index, 1); ++i)
      stream.call(MF_CANN(aclnnEmbeddingDenseBackward), tensor(takePart(kept, 2, i)),
                  tensor(takePart(local, 1, i)), static_cast<uint64_t>(numRows),
                  ~uint64_t{0}, false, tensor(takePart(gradInput, 2, i)));}];
  let cannHeaders = rowsOfGradient.headers # ["embedding_dense_backward"];
  let summary = "gradient of mfGatherRows with respect to self";
  let parts = "+*mh, *m -> *Th";
  let description = [{Sums are in the order of the index, in fp32. A row that
    nothing read is zero.}];
  let inputs = (ins In:$gradOutput, In:$index);
  let outputs = (outs Out:$gradInput);
  let kind = "permutation";
  let flops = "spec.inputs[0].getNumElements()";
  let workspace = "getGatherRowsGradWorkspace(spec)";
}

def MoeTokenPermute : Kernel<"aclnnMoeTokenPermute", "makeTokenPermute"> {
  let cannBody = [{
    const CannTensor experts = stream.makeScratch(indices.dims, ACL_INT32);
    stream.call(MF_CANN(aclnnCast), tensor(indices), ACL_INT32, tensor(experts));
    for (int64_t i = 0; i < countParts(indices, 1); ++i)
      stream.call(MF_CANN(aclnnMoeTokenPermute), tensor(takePart(tokens, 2, i)),
                  tensor(withColumn(takePart(experts, 1, i))), int64_t{0}, false,
                  tensor(takePart(permuteTokens, 2, i)),
                  tensor(takePart(sortedIndices, 1, i)));}];
  let cannHeaders = ["cast", "moe_token_permute"];
  let summary = "tokens sorted by the number of their expert";
  let parts = "*TH, *T -> *TH, *T";
  let description = [{The sort is stable and ascending in each batch: token i
    becomes row `sortedIndices[i]`. `indices` are fp32, one for each token;
    aclnn's are integers, of which a token may have several. numOutTokens and
    padding are not supported.}];
  let inputs = (ins In:$tokens, In:$indices);
  let outputs = (outs Out:$permuteTokens, Out:$sortedIndices);
  let kind = "permutation";
  let workspace = "spec.inputs[1].getBytes()";
  let profiled = ["MoeTokenPermute"];
}

def MoeTokenUnpermute : Kernel<"aclnnMoeTokenUnpermute", "makeTokenUnpermute"> {
  let cannBody = [{
    for (int64_t i = 0; i < countParts(sortedIndices, 1); ++i)
      stream.call(MF_CANN(aclnnMoeTokenUnpermute),
                  tensor(takePart(permutedTokens, 2, i)),
                  tensor(takePart(sortedIndices, 1, i)), nullptr, false, nullptr,
                  tensor(takePart(out, 2, i)));}];
  let summary = "tokens back in the order before aclnnMoeTokenPermute";
  let parts = "+*Th, *T -> *Th";
  let description = [{out[i] = permutedTokens[sortedIndices[i]] in each batch, or
    zeros if the index is outside. Probabilities and padding are not supported.}];
  let inputs = (ins In:$permutedTokens, In:$sortedIndices);
  let outputs = (outs Out:$out);
  let kind = "permutation";
  let profiled = ["MoeTokenUnpermute"];
}

def ExchangeTokens : Kernel<"mfExchangeTokens", "makeExchangeTokens"> {
  let summary = "the exchange of tokens among ranks, on one device that has all of them";
  let parts = "getTokenExchangeParts(spec)";
  let description = [{x is [groups, ranks, rows, width] with the rows of each
    source in the order of their destinations. A destination gets them source
    after source, and then `fill`. `send` is [groups, source, destination,
    experts] and `receive` [groups, destination, source, experts]: numbers of
    rows, which are added up over the experts. All elements of a destination are
    NaN if it has too few rows, if send and receive differ, or if a source has
    fewer rows than it sends.}];
  let inputs = (ins In:$x, In:$send, In:$receive);
  let outputs = (outs Out:$out);
  let attributes = (attrs Double:$fill);
  let kind = "permutation";
}

//===----------------------------------------------------------------------===//
// Products of experts
//
// The rows x are [groups, ranks, rows, in], the counts [groups, ranks, experts
// of a rank]. The first counts[g, p, 0] rows of x[g, p] belong to expert 0 of
// rank p, the next counts[g, p, 1] rows to expert 1, and so on. FLOPs count all
// rows of x, which is an upper bound, since the counts are data.
//===----------------------------------------------------------------------===//

class ExpertMatmulKernel<string kernelName, string factory>
    : Kernel<kernelName, factory> {
  let cannBody = [{
    // CANN does not write the rows behind those of the last expert.
    const CannTensor sizes = stream.makeScratch(counts.dims, ACL_INT64);
    stream.call(MF_CANN(aclnnCast), tensor(counts), ACL_INT64, tensor(sizes));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(out));
    for (int64_t i = 0; i < countParts(x, 2); ++i) {
      const CannTensor matrices = takePart(weight, 3, i % weight.dims[0]);
      stream.call(MF_CANN(aclnnGroupedMatmulV4), list({takePart(x, 2, i)}),
                  list({transpose_weight ? transpose(matrices) : matrices}), nullptr,
                  nullptr, nullptr, nullptr, nullptr, nullptr,
                  tensor(takePart(sizes, 1, i)), nullptr, nullptr, nullptr,
                  int64_t{3}, int64_t{0}, int64_t{1}, int64_t{0},
                  list({takePart(out, 2, i)}), nullptr, nullptr);
    }
  }];
  let cannHeaders = ["cast", "zero", "grouped_matmul_v4"];
  let parts = "getExpertMatmulParts(spec)";
  let inputs = (ins In:$x, In:$weight, In:$counts);
  let outputs = (outs Out:$out);
  let attributes = (attrs OptionalBool:$transpose_weight);
  let engine = Cube;
  let kind = "grouped_matmul";
  let flops = "getExpertMatmulFlops(spec)";
  let measures = [
    Measure<"experts", "getExperts(spec.inputs[1])">,
    Measure<"rows", "getMeanExpertRows(spec.inputs[0], spec.inputs[1])">,
    Measure<"inner", "getColumns(spec.inputs[0])">,
    Measure<"columns", "getColumns(spec.outputs[0])">
  ];
}

class ExpertWeightGradKernel<string kernelName, string factory>
    : Kernel<kernelName, factory> {
  let cannBody = [{
    stream.require(x.dims[0] == 1, "expected rows of one group");
    const CannTensor sizes = stream.makeScratch(counts.dims, ACL_INT64);
    stream.call(MF_CANN(aclnnCast), tensor(counts), ACL_INT64, tensor(sizes));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(gradWeight));
    for (int64_t i = 0; i < countParts(x, 2); ++i)
      stream.call(MF_CANN(aclnnGroupedMatmulV4),
                  list({transpose(takePart(x, 2, i))}),
                  list({takePart(gradOutput, 2, i)}), nullptr, nullptr, nullptr,
                  nullptr, nullptr, nullptr, tensor(takePart(sizes, 1, i)), nullptr,
                  nullptr, nullptr, int64_t{3}, int64_t{2}, int64_t{1}, int64_t{0},
                  list({takePart(gradWeight, 3, i)}), nullptr, nullptr);}];
  let cannHeaders = ["cast", "zero", "grouped_matmul_v4"];
  let parts = "^gpTh, ^gpTi, gpL -> pLhi";
  let inputs = (ins In:$x, In:$gradOutput, In:$counts);
  let outputs = (outs Out:$gradWeight);
  let engine = Cube;
  let kind = "grouped_matmul";
  let flops = "getExpertMatmulFlops(spec)";
  // `rows` is the dimension over which a product sums.
  let measures = [
    Measure<"experts", "getExperts(spec.outputs[0])">,
    Measure<"rows", "getMeanExpertRows(spec.inputs[0], spec.outputs[0])">,
    Measure<"inner", "getColumns(spec.inputs[0])">,
    Measure<"columns", "getColumns(spec.inputs[1])">
  ];
}

def ExpertMatmul
    : ExpertMatmulKernel<"mfExpertMatmul", "makeExpertMatmul"> {
  let summary = "rows of each expert times its weight, expert after expert";
  let description = [{weight is [ranks, experts, in, out], with
    `transpose_weight` [ranks, experts, out, in]. Rows of the result after those
    of the last expert are zero. Each product is divided into blocks as in
    aclnnMatmul. FLOPs count all rows of x.}];
  let fromProfile = "takeProfiledGroupedMatmul(spec)";
}

def GroupedMatmul
    : ExpertMatmulKernel<"aclnnGroupedMatmul", "makeGroupedMatmul"> {
  let summary = "rows of each expert times its weight, all experts at once";
  let description = [{This is mfExpertMatmul with all experts at once. The bits
    are the same, except that experts with few rows in fp32 have another order of
    sums. It corresponds to aclnn's groupType 0 with one tensor of rows and
    splitItem 3; aclnn's groupList is the cumulative sum of the counts. Bias and
    quantization are not supported.}];
  let profiled = ["GroupedMatmul"];
  let fromProfile = "takeProfiledGroupedMatmul(spec)";
}

def ExpertMatmulWeightGrad
    : ExpertWeightGradKernel<"mfExpertMatmulWeightGrad",
                             "makeExpertWeightGrad"> {
  let summary = "gradient of mfExpertMatmul with respect to the weight";
  let description = [{The gradient is [ranks, experts, in, out], summed over the
    groups in their order. It is zero for an expert without rows. Experts are
    computed one after the other. FLOPs count all rows of x.}];
}

def GroupedMatmulWeightGrad
    : ExpertWeightGradKernel<"mfGroupedMatmulWeightGrad",
                             "makeGroupedWeightGrad"> {
  let summary = "gradient of aclnnGroupedMatmul with respect to the weight";
  let description = [{This is mfExpertMatmulWeightGrad with all experts at once,
    with the same bits. It corresponds to aclnnGroupedMatmul with groupType 2 and
    x transposed.}];
}
