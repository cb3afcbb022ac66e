//===- AscendRouterKernels.td - Kernels of expert routers --*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td: scores of experts, the choice among them, and the
// destinations of the chosen tokens. Masks and counts are floating-point
// tensors, indices are i32.
//
//===----------------------------------------------------------------------===//

#ifndef ASCEND_ROUTER_KERNELS_TD
#define ASCEND_ROUTER_KERNELS_TD

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def Sigmoid : UnaryKernel<"aclnnSigmoid"> {
  let summary = "1 / (1 + exp(-self))";
  let kind = "activation";
  let profiled = ["Sigmoid"];
}
def Exp : UnaryKernel<"aclnnExp"> {
  let summary = "exponential";
  let profiled = ["Exp"];
}
def Log : UnaryKernel<"aclnnLog"> {
  let summary = "natural logarithm";
  let profiled = ["Log"];
}

def SigmoidBackward
    : Kernel<"aclnnSigmoidBackward", "makeActivationBackward"> {
  let cann = "tensor(gradOutput), tensor(output), tensor(gradInput)";
  let summary = "gradient of aclnnSigmoid, from its output";
  let parts = "+*, * -> *";
  let inputs = (ins In:$gradOutput, In:$output);
  let outputs = (outs OutOrSameAs<["gradOutput", "output"]>:$gradInput);
  let kind = "activation_grad";
}

def Softplus : UnaryKernel<"aclnnSoftplus"> {
  let cann = "tensor(self), scalar(1), scalar(20), tensor(out)";
  let summary = "ln(1 + exp(self))";
  let description = [{aclnn's beta is 1. Above its threshold of 20 the result is
    self, which fp32 does not tell from ln(1 + exp(self)).}];
  let kind = "activation";
  let profiled = ["Softplus", "SoftplusV2"];
}

def SqrtSoftplus : UnaryKernel<"mfSqrtSoftplus"> {
  let cann = "";
  let cannBody = [{
    stream.call(MF_CANN(aclnnSoftplus), tensor(self), scalar(1), scalar(20), tensor(out));
    stream.call(MF_CANN(aclnnSqrt), tensor(out), tensor(out));}];
  let cannHeaders = ["softplus", "sqrt"];
  let summary = "sqrt(ln(1 + exp(self)))";
  let kind = "activation";
}
def SqrtSoftplusBackward : ActivationBackwardKernel<"mfSqrtSoftplusBackward"> {
  let cann = "";
  let cannBody = [{
    const CannTensor root = stream.makeScratch(self.dims, self.type);
    const CannTensor slope = stream.makeScratch(self.dims, self.type);
    const CannTensor isZero = stream.makeScratch(self.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnSoftplus), tensor(self), scalar(1), scalar(20), tensor(root));
    stream.call(MF_CANN(aclnnSqrt), tensor(root), tensor(root));
    stream.call(MF_CANN(aclnnEqScalar), tensor(root), scalar(0), tensor(isZero));
    stream.call(MF_CANN(aclnnSigmoid), tensor(self), tensor(slope));
    stream.call(MF_CANN(aclnnMuls), tensor(slope), scalar(0.5), tensor(slope));
    stream.call(MF_CANN(aclnnDiv), tensor(slope), tensor(root), tensor(slope));
    stream.call(MF_CANN(aclnnMul), tensor(gradOutput), tensor(slope), tensor(gradInput));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(gradInput), tensor(isZero),
                scalar(0));}];
  let cannHeaders = ["softplus", "sqrt", "eq_scalar", "sigmoid", "mul", "div",
                     "masked_fill_scalar"];
  let summary = "gradient of mfSqrtSoftplus; 0 where it is 0";
}

def Div : BinaryKernel<"aclnnDiv"> {
  let summary = "self / other";
  let parts = "+*, * -> *";
  let description = "Shapes broadcast as in NumPy.";
  let profiled = ["Div", "RealDiv"];
}

class CompareKernel<string kernelName> : ScalarKernel<kernelName> {
  let cann = "";
  let cannBody = [{
    const CannTensor holds = stream.makeScratch(self.dims, ACL_BOOL);
    stream.call(MF_CANN(}] # kernelName # [{), tensor(self), scalar(value), tensor(holds));
    stream.call(MF_CANN(aclnnCast), tensor(holds), out.type, tensor(out));}];
  let description = [{1 or 0 of self's type; aclnn's result is a bool. NaN
    compares as IEEE 754 says.}];
}

def GtScalar : CompareKernel<"aclnnGtScalar"> {
  let summary = "self > value";
  let cannHeaders = ["gt_scalar", "cast"];
}
def GeScalar : CompareKernel<"aclnnGeScalar"> {
  let summary = "self >= value";
  let cannHeaders = ["ge_scalar", "cast"];
}
def LtScalar : CompareKernel<"aclnnLtScalar"> {
  let summary = "self < value";
  let cannHeaders = ["lt_scalar", "cast"];
}
def NeScalar : CompareKernel<"aclnnNeScalar"> {
  let summary = "self != value";
  let cannHeaders = ["ne_scalar", "cast"];
}

def GeTensor : BinaryKernel<"aclnnGeTensor"> {
  let cann = "";
  let cannBody = [{
    const CannTensor holds = stream.makeScratch(out.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnGeTensor), tensor(self), tensor(other), tensor(holds));
    stream.call(MF_CANN(aclnnCast), tensor(holds), out.type, tensor(out));}];
  let cannHeaders = ["ge_tensor", "cast"];
  let summary = "self >= other";
  let parts = "*, * -> *";
  let description = [{Shapes broadcast as in NumPy. 1 or 0 of self's type;
    aclnn's result is a bool.}];
}

def RemainderTensorScalar : ScalarKernel<"aclnnRemainderTensorScalar"> {
  let cannHeaders = ["remainder"];
  let summary = "self - value * floor(self / value)";
  let description = "Has the sign of `value`, which is finite and not 0.";
}
def FloorDivides : ScalarKernel<"aclnnFloorDivides"> {
  let cannHeaders = ["floor_divide"];
  let summary = "floor(self / value)";
  let description = "`value` is finite and not 0.";
}

//===----------------------------------------------------------------------===//
// Choosing and indexing
//===----------------------------------------------------------------------===//

def Topk : Kernel<"aclnnTopk", "makeTopk"> {
  let cannBody = [{
    const CannTensor places = stream.makeScratch(indices.dims, ACL_INT64);
    stream.call(MF_CANN(aclnnTopk), tensor(self), k, getLastDim(self), true, true,
                tensor(values), tensor(places));
    stream.call(MF_CANN(aclnnCast), tensor(places), ACL_INT32, tensor(indices));}];
  let cannHeaders = ["topk", "cast"];
  let summary = "the k largest elements of the last dimension, descending";
  let parts = "*E -> *K, *K";
  let description = [{Of equal elements the one with the lower index comes
    first; NaN is larger than all else, 0 and -0 are equal. aclnn's dim is -1,
    largest and sorted are true.}];
  let inputs = (ins In:$self);
  let outputs = (outs Out:$values, Out:$indices);
  let attributes = (attrs Int:$k);
  let kind = "router";
  let flops = "spec.inputs[0].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
  let profiled = ["TopK", "TopKV2"];
}

def Sort : Kernel<"aclnnSort", "makeSort"> {
  let cannBody = [{
    const CannTensor places = stream.makeScratch(indices.dims, ACL_INT64);
    stream.call(MF_CANN(aclnnSort), tensor(self), true, getLastDim(self), false,
                tensor(values), tensor(places));
    stream.call(MF_CANN(aclnnCast), tensor(places), ACL_INT32, tensor(indices));}];
  let cannHeaders = ["sort", "cast"];
  let summary = "the last dimension in ascending order";
  let parts = "*E -> *E, *E";
  let description = [{The sort is stable. NaN comes last, and 0 and -0 are equal.
    Elements may also be i32.
    aclnn's dim is -1.}];
  let inputs = (ins In:$self);
  let outputs = (outs Out:$values, Out:$indices);
  let kind = "router";
  let workspace = "getSortWorkspace(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
  let profiled = ["Sort"];
}

def Gather : Kernel<"aclnnGather", "makeGather"> {
  let cann = "tensor(self), getLastDim(self), tensor(index), tensor(out)";
  let summary = "elements of the last dimension by index";
  let parts = "+*E, *K -> *K";
  let description = [{out[.., j] = self[.., index[.., j]]; an index outside of
    self reads zero. aclnn's dim is -1.}];
  let inputs = (ins In:$self, In:$index);
  let outputs = (outs Out:$out);
  let kind = "router";
  let bytes = "spec.inputs[1].getBytes() + 2 * spec.outputs[0].getBytes()";
  let profiled = ["GatherElements", "GatherElementsV2"];
}

def ScatterElements : Kernel<"mfScatterElements", "makeScatterElements"> {
  let cannBody = [{
    const CannTensor sums = stream.makeFloat(out), added = stream.makeFloat(src);
    if (src.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(src), ACL_FLOAT, tensor(added));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(sums));
    stream.call(MF_CANN(aclnnScatterAdd), tensor(sums), getLastDim(out),
                tensor(index), tensor(added), tensor(sums));
    if (out.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(sums), out.type, tensor(out));}];
  let cannHeaders = ["cast", "zero", "scatter_add"];
  let summary = "out[.., index[.., j]] += src[.., j] on zeros";
  let parts = "+*K, *K -> *E";
  let description = [{This is the gradient of aclnnGather, and aclnnScatterAdd to
    zeros along the last dimension. Elements are added in the order of j, in fp32.
    An index outside of out adds nothing.}];
  let inputs = (ins In:$src, In:$index);
  let outputs = (outs Out:$out);
  let kind = "router";
  let profiled = ["ScatterElements", "ScatterElementsV2"];
}

def OneHot : Kernel<"aclnnOneHot", "makeOneHot"> {
  let cannBody = [{
    // Ones are added to zeros; an index outside adds 0 to the first column.
    const CannTensor column = stream.makeScratch(self.dims, ACL_INT32);
    const CannTensor outside = stream.makeScratch(self.dims, ACL_BOOL);
    const CannTensor above = stream.makeScratch(self.dims, ACL_BOOL);
    const CannTensor ones = stream.makeScratch(self.dims, ACL_FLOAT);
    const CannTensor sums = stream.makeFloat(out);
    stream.call(MF_CANN(aclnnLtScalar), tensor(self), integer(0), tensor(outside));
    stream.call(MF_CANN(aclnnGeScalar), tensor(self), integer(out.dims.back()),
                tensor(above));
    stream.call(MF_CANN(aclnnInplaceLogicalOr), tensor(outside), tensor(above));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(column), tensor(self));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(column),
                tensor(outside), integer(0));
    stream.call(MF_CANN(aclnnLogicalNot), tensor(outside), tensor(above));
    stream.call(MF_CANN(aclnnCast), tensor(above), ACL_FLOAT, tensor(ones));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(sums));
    stream.call(MF_CANN(aclnnScatterAdd), tensor(sums), getLastDim(out),
                tensor(withColumn(column)), tensor(withColumn(ones)), tensor(sums));
    if (out.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(sums), out.type, tensor(out));}];
  let cannHeaders = ["lt_scalar", "ge_scalar", "logical_or", "copy", "logical_not",
                     "masked_fill_scalar", "cast", "zero", "scatter_add"];
  let summary = "1 at the index, 0 elsewhere";
  let parts = "* -> *E";
  let description = [{aclnn's numClasses is the last size of out, its axis -1.
    An index outside of out makes zeros.}];
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let kind = "router";
  let profiled = ["OneHot"];
}

def Cumsum : Kernel<"aclnnCumsum", "makeCumsum"> {
  let cann = "tensor(self), axis, out.type, tensor(out)";
  let summary = "sums of all elements up to each one";
  let parts = "getConcatenatedParts(spec)";
  let description = "`axis` is aclnn's dim; sums are in fp32.";
  let inputs = (ins In:$self);
  let outputs = (outs OutOrSameAs<["self"]>:$out);
  let attributes = (attrs Int:$axis);
  let kind = "router";
  let profiled = ["Cumsum"];
}

//===----------------------------------------------------------------------===//
// Capacity and balance
//===----------------------------------------------------------------------===//

def TopKRouter : Kernel<"mfTopKRouter", "makeTopKRouter"> {
  let cannBody = [{
    // All computations are in fp32, in which these integers are exact. Choices are
    // in the order in which they take places.
    const int64_t rows = expertIndex.dims[0], tokens = expertIndex.dims[1];
    const int64_t choices = expertIndex.dims[2], all = tokens * choices;
    const int64_t experts = dispatchIndex.dims[1], slots = dispatchIndex.dims[2];
    const Dims sizes = k_major ? Dims{rows, choices, tokens} : expertIndex.dims;
    CannTensor index = expertIndex;
    if (k_major) {
      index = stream.makeScratch(sizes, ACL_INT32);
      stream.call(MF_CANN(aclnnPermute), tensor(expertIndex), ints({0, 2, 1}),
                  tensor(index));
    }
    index = reshape(index, {rows, all});
    // Counts the choices of each expert up to each choice.
    const CannTensor ones = stream.makeScratch({rows, all}, ACL_FLOAT);
    const CannTensor chosen = stream.makeScratch({rows, all, experts}, ACL_FLOAT);
    const CannTensor counts = stream.makeScratch(chosen.dims, ACL_FLOAT);
    const CannTensor slot = stream.makeScratch({rows, all}, ACL_FLOAT);
    const CannTensor dropped = stream.makeScratch({rows, all}, ACL_BOOL);
    stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(ones), scalar(1));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(chosen));
    stream.call(MF_CANN(aclnnScatterAdd), tensor(chosen), int64_t{2},
                tensor(withColumn(index)), tensor(withColumn(ones)), tensor(chosen));
    stream.call(MF_CANN(aclnnCumsum), tensor(chosen), int64_t{1}, ACL_FLOAT,
                tensor(counts));
    stream.call(MF_CANN(aclnnMul), tensor(counts), tensor(chosen), tensor(counts));
    stream.call(MF_CANN(aclnnReduceSum), tensor(counts), ints({2}), false, ACL_FLOAT,
                tensor(slot));
    stream.call(MF_CANN(aclnnGtScalar), tensor(slot),
                scalar(static_cast<double>(slots)), tensor(dropped));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(slot),
                tensor(dropped), scalar(0));
    // combineIndex.
    const CannTensor expert = stream.makeScratch({rows, all}, ACL_FLOAT);
    const CannTensor target = stream.makeScratch({rows, all}, ACL_FLOAT);
    const CannTensor whole = stream.makeScratch({rows, all}, ACL_INT32);
    stream.call(MF_CANN(aclnnCast), tensor(index), ACL_FLOAT, tensor(expert));
    stream.call(MF_CANN(aclnnMuls), tensor(expert),
                scalar(static_cast<double>(slots + 1)), tensor(target));
    stream.call(MF_CANN(aclnnAdd), tensor(target), tensor(slot), scalar(1),
                tensor(target));
    stream.call(MF_CANN(aclnnCast), tensor(target), ACL_INT32, tensor(whole));
    if (k_major)
      stream.call(MF_CANN(aclnnPermute), tensor(reshape(whole, sizes)),
                  ints({0, 2, 1}), tensor(combineIndex));
    else
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(combineIndex),
                  tensor(reshape(whole, sizes)));
    // Scatters the indices of tokens to their places. Dropped tokens go to an extra
    // place before the first one.
    const CannTensor numbers = stream.makeScratch(sizes, ACL_FLOAT);
    const CannTensor filled = stream.makeScratch({rows, experts * slots + 1}, ACL_FLOAT);
    const CannTensor taken = stream.makeScratch({rows, experts * slots}, ACL_FLOAT);
    stream.call(MF_CANN(aclnnMuls), tensor(expert),
                scalar(static_cast<double>(slots)), tensor(target));
    stream.call(MF_CANN(aclnnAdd), tensor(target), tensor(slot), scalar(1),
                tensor(target));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(target),
                tensor(dropped), scalar(0));
    stream.call(MF_CANN(aclnnCast), tensor(target), ACL_INT32, tensor(whole));
    stream.call(MF_CANN(aclnnCumsum), tensor(reshape(ones, sizes)),
                int64_t{k_major ? 2 : 1}, ACL_FLOAT, tensor(numbers));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(filled));
    stream.call(MF_CANN(aclnnScatterAdd), tensor(filled), int64_t{1}, tensor(whole),
                tensor(reshape(numbers, {rows, all})), tensor(filled));
    stream.call(MF_CANN(aclnnSliceV2), tensor(filled), ints({0, 1}),
                ints({rows, experts * slots + 1}), ints({0, 1}), ints({1, 1}),
                tensor(taken));
    stream.call(MF_CANN(aclnnCast), tensor(reshape(taken, dispatchIndex.dims)),
                ACL_INT32, tensor(dispatchIndex));}];
  let cannHeaders = ["permute", "fill_scalar", "zero", "scatter_add", "cumsum", "mul",
                     "reduce_sum", "gt_scalar", "masked_fill_scalar", "cast", "add",
                     "copy", "slice_v2"];
  let summary = "slots of the chosen tokens in experts of limited capacity";
  let parts = "rNK -> rEM, rNK";
  let description = [{expertIndex is [rows, tokens, k] and dispatchIndex [rows,
    experts, n]. In each row the first n choices of each expert are kept. Choices
    are in the order of tokens; with `k_major` all first choices come before all
    second ones. dispatchIndex has 1 + the index of the token in each place, or 0
    if the place is empty. combineIndex is expert * (n + 1) + place, where places
    are counted from 1 and 0 means that the choice was dropped. This is
    MindSpore's TopKRouter.}];
  let inputs = (ins In:$expertIndex);
  let outputs = (outs Out:$dispatchIndex, Out:$combineIndex);
  let attributes = (attrs Bool:$k_major);
  let kind = "router";
  let flops = "spec.inputs[0].getNumElements()";
}

def UpdateExpertBias : Kernel<"mfUpdateExpertBias", "makeUpdateExpertBias"> {
  let cannBody = [{
    // The sign is 1 where the load is too small, and -1 where it is too large.
    const CannTensor holds = stream.makeScratch(load.dims, ACL_BOOL);
    const CannTensor sign = stream.makeScratch(load.dims, ACL_FLOAT);
    const CannTensor above = stream.makeScratch(load.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnLtScalar), tensor(load), scalar(target), tensor(holds));
    stream.call(MF_CANN(aclnnCast), tensor(holds), ACL_FLOAT, tensor(sign));
    stream.call(MF_CANN(aclnnGtScalar), tensor(load), scalar(target), tensor(holds));
    stream.call(MF_CANN(aclnnCast), tensor(holds), ACL_FLOAT, tensor(above));
    stream.call(MF_CANN(aclnnSub), tensor(sign), tensor(above), scalar(1), tensor(sign));
    stream.call(MF_CANN(aclnnInplaceMuls), tensor(sign), scalar(rate));
    stream.call(MF_CANN(aclnnInplaceAdd), tensor(bias), tensor(sign), scalar(1));}];
  let cannHeaders = ["lt_scalar", "gt_scalar", "cast", "sub", "mul", "add"];
  let summary = "bias += rate * sign(target - load)";
  let parts = "* -> *";
  let description = [{The kernel balances experts without an auxiliary loss. The
    load of an expert is its share of the choices. The sign of 0 is 0.}];
  let inputs = (ins In:$load);
  let outputs = (outs Updated:$bias);
  let attributes = (attrs Double:$rate, Double:$target);
  let kind = "router";
  let flops = "3 * spec.inputs[0].getNumElements()";
}

#endif // ASCEND_ROUTER_KERNELS_TD
