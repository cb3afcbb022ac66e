//===- AscendRouterKernels.td - Kernels of expert routers --*- tablegen -*-===//
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
  let summary = "gradient of aclnnSigmoid, from its output";
  let parts = "+*, * -> *";
  let inputs = (ins In:$gradOutput, In:$output);
  let outputs = (outs OutOrSameAs<["gradOutput", "output"]>:$gradInput);
  let kind = "activation_grad";
}

def Div : BinaryKernel<"aclnnDiv"> {
  let summary = "self / other";
  let parts = "+*, * -> *";
  let description = "Shapes broadcast as in NumPy.";
  let profiled = ["Div", "RealDiv"];
}

class CompareKernel<string kernelName> : ScalarKernel<kernelName> {
  let description = [{1 or 0 of self's type; aclnn's result is a bool. NaN
    compares as IEEE 754 says.}];
}

def GtScalar : CompareKernel<"aclnnGtScalar"> { let summary = "self > value"; }
def GeScalar : CompareKernel<"aclnnGeScalar"> { let summary = "self >= value"; }
def LtScalar : CompareKernel<"aclnnLtScalar"> { let summary = "self < value"; }
def NeScalar : CompareKernel<"aclnnNeScalar"> { let summary = "self != value"; }

def GeTensor : BinaryKernel<"aclnnGeTensor"> {
  let summary = "self >= other";
  let parts = "*, * -> *";
  let description = [{Shapes broadcast as in NumPy. 1 or 0 of self's type;
    aclnn's result is a bool.}];
}

def RemainderTensorScalar : ScalarKernel<"aclnnRemainderTensorScalar"> {
  let summary = "self - value * floor(self / value)";
  let description = "Has the sign of `value`, which is finite and not 0.";
}
def FloorDivides : ScalarKernel<"aclnnFloorDivides"> {
  let summary = "floor(self / value)";
  let description = "`value` is finite and not 0.";
}

//===----------------------------------------------------------------------===//
// Choosing and indexing
//===----------------------------------------------------------------------===//

def Topk : Kernel<"aclnnTopk", "makeTopk"> {
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
  let summary = "the last dimension in ascending order";
  let parts = "*E -> *E, *E";
  let description = [{Stable; NaN comes last, 0 and -0 are equal. Also of i32.
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
  let summary = "out[.., index[.., j]] += src[.., j] on zeros";
  let parts = "+*K, *K -> *E";
  let description = [{Gradient of aclnnGather: aclnnScatterAdd to zeros, along
    the last dimension. Adds in the order of j, in fp32; an index outside of out
    adds nothing.}];
  let inputs = (ins In:$src, In:$index);
  let outputs = (outs Out:$out);
  let kind = "router";
  let profiled = ["ScatterElements", "ScatterElementsV2"];
}

def OneHot : Kernel<"aclnnOneHot", "makeOneHot"> {
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
  let summary = "slots of the chosen tokens in experts of limited capacity";
  let parts = "rNK -> rEM, rNK";
  let description = [{Of expertIndex [rows, tokens, k] the first n choices of
    each expert in each row are kept; n is the last size of dispatchIndex
    [rows, experts, n]. Choices go token after token; with `k_major` all first
    choices come before all second ones. dispatchIndex is the number of the
    token in a slot, from 1, or 0 in an empty one. combineIndex is
    expert * (n + 1) + slot, the slot from 1, or 0 if the choice was dropped.
    MindSpore's TopKRouter.}];
  let inputs = (ins In:$expertIndex);
  let outputs = (outs Out:$dispatchIndex, Out:$combineIndex);
  let attributes = (attrs Bool:$k_major);
  let kind = "router";
  let flops = "spec.inputs[0].getNumElements()";
}

def UpdateExpertBias : Kernel<"mfUpdateExpertBias", "makeUpdateExpertBias"> {
  let summary = "bias += rate * sign(target - load)";
  let parts = "* -> *";
  let description = [{What balances experts without a loss: each has an own bias
    and load, its share of the choices. The sign of 0 is 0.}];
  let inputs = (ins In:$load);
  let outputs = (outs Updated:$bias);
  let attributes = (attrs Double:$rate, Double:$target);
  let kind = "router";
  let flops = "3 * spec.inputs[0].getNumElements()";
}

#endif // ASCEND_ROUTER_KERNELS_TD
