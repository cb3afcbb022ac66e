//===- AscendExpertKernels.td - Kernels of experts ---------*- tablegen -*-===//
//
// Part of AscendKernels.td: the kernels of a mixture of experts that follow its
// router. The number of rows of an expert is known only when a step runs, so
// counts are tensors. They are whole numbers in fp32. Values below 1 and NaNs
// count as 0, fractions are truncated, and rows beyond the size of a tensor are
// ignored.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendKernelBase.td"

//===----------------------------------------------------------------------===//
// Rows of tokens
//===----------------------------------------------------------------------===//

def GatherRows : Kernel<"mfGatherRows", "makeGatherRows"> {
  let summary = "rows of a tensor by index, in each batch";
  let parts = "+*Th, *m -> *mh";
  let description = [{self is [..., rows, width], index [..., places]; an index
    outside of the rows reads zeros. Along the rows alone, where aclnn's
    gather has an index for each element.}];
  let inputs = (ins In:$self, In:$index);
  let outputs = (outs Out:$out);
  let kind = "permutation";
  let bytes = "spec.inputs[1].getBytes() + 2 * spec.outputs[0].getBytes()";
}

def GatherRowsBackward : Kernel<"mfGatherRowsBackward", "makeGatherRowsGrad"> {
  let summary = "gradient of mfGatherRows with respect to self";
  let parts = "+*mh, *m -> *Th";
  let description = [{Sums in the order of the index, in fp32; zeros for a row
    that nothing read.}];
  let inputs = (ins In:$gradOutput, In:$index);
  let outputs = (outs Out:$gradInput);
  let kind = "permutation";
  let flops = "spec.inputs[0].getNumElements()";
  let workspace = "getGatherRowsGradWorkspace(spec)";
}

def MoeTokenPermute : Kernel<"aclnnMoeTokenPermute", "makeTokenPermute"> {
  let summary = "tokens sorted by the number of their expert";
  let parts = "*TH, *T -> *TH, *T";
  let description = [{Stable and ascending in each batch: token i goes to row
    `sortedIndices[i]`. `indices` are fp32, one for each token; aclnn's are
    integers and may be several. No numOutTokens, no padding.}];
  let inputs = (ins In:$tokens, In:$indices);
  let outputs = (outs Out:$permuteTokens, Out:$sortedIndices);
  let kind = "permutation";
  let workspace = "spec.inputs[1].getBytes()";
  let profiled = ["MoeTokenPermute"];
}

def MoeTokenUnpermute : Kernel<"aclnnMoeTokenUnpermute", "makeTokenUnpermute"> {
  let summary = "tokens back in the order before aclnnMoeTokenPermute";
  let parts = "+*Th, *T -> *Th";
  let description = [{out[i] = permutedTokens[sortedIndices[i]] in each batch,
    zeros for an index outside. No probabilities, no padding.}];
  let inputs = (ins In:$permutedTokens, In:$sortedIndices);
  let outputs = (outs Out:$out);
  let kind = "permutation";
  let profiled = ["MoeTokenUnpermute"];
}

def ExchangeTokens : Kernel<"mfExchangeTokens", "makeExchangeTokens"> {
  let summary = "what ranks of a group send each other, where one has them all";
  let parts = "getTokenExchangeParts(spec)";
  let description = [{x is [groups, ranks, rows, width] with the rows of each
    source in the order of their destinations; a destination gets them source
    after source, and `fill` behind. `send` is [groups, source, destination,
    experts] and `receive` [groups, destination, source, experts]: rows, added
    up over the experts. A destination is NaN throughout if its rows do not
    suffice, if send and receive differ, or if a source lacks the rows.}];
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
    `transpose_weight` [ranks, experts, out, in]. Rows behind those of the last
    expert are zero. Each product is cut as aclnnMatmul is. FLOPs are those of
    all rows.}];
  let fromProfile = "takeProfiledGroupedMatmul(spec)";
}

def GroupedMatmul
    : ExpertMatmulKernel<"aclnnGroupedMatmul", "makeGroupedMatmul"> {
  let summary = "rows of each expert times its weight, all experts at once";
  let description = [{mfExpertMatmul with all experts at once, and its bits but
    for few rows in fp32, which it multiplies in a way of its own. Of aclnn's,
    groupType 0 with one tensor of rows and splitItem 3; its groupList is the
    sum of the counts up to each expert. No bias, no quantization.}];
  let profiled = ["GroupedMatmul"];
  let fromProfile = "takeProfiledGroupedMatmul(spec)";
}

def ExpertMatmulWeightGrad
    : ExpertWeightGradKernel<"mfExpertMatmulWeightGrad",
                             "makeExpertWeightGrad"> {
  let summary = "gradient of mfExpertMatmul with respect to the weight";
  let description = [{[ranks, experts, in, out], summed over the groups, group
    after group; zeros for an expert without rows. Expert after expert. FLOPs
    are those of all rows.}];
}

def GroupedMatmulWeightGrad
    : ExpertWeightGradKernel<"mfGroupedMatmulWeightGrad",
                             "makeGroupedWeightGrad"> {
  let summary = "gradient of aclnnGroupedMatmul with respect to the weight";
  let description = [{mfExpertMatmulWeightGrad with all experts at once, and its
    bits: aclnnGroupedMatmul with groupType 2 and x transposed.}];
}
