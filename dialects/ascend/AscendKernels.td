//===- AscendKernels.td - The kernels that programs launch -----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each record defines a kernel's operands, its use of their memory, and its
// costs. The verification of `ascend.launch`, the accesses with which programs
// are proven, the registry of the host's kernels and docs/generated/kernels.md
// are derived from the records. A new kernel needs a record here, a file in
// lib/Exec/Kernels and tests.
//
// Names and the order of operands are those of aclnn, for inputs and outputs
// separately. The name of a kernel that CANN does not have begins with mf. A
// tensor that aclnn updates in place is an output. Host arguments that the host
// kernel does not need are left out, including workspaceSize and executor.
// Optional operands in the middle of aclnn's list come last.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendKernelBase.td"
include "dialects/ascend/AscendDropoutKernels.td"
include "dialects/ascend/AscendExpertKernels.td"

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class UnaryKernel<string kernelName> : Kernel<kernelName, "makeUnary"> {
  let cann = "tensor(self), tensor(out)";
  let parts = "* -> *";
  let inputs = (ins In:$self);
  let outputs = (outs OutOrSameAs<["self"]>:$out);
  let kind = "elementwise";
  let fusion = "FusionKind::Elements";
  let fusedFactory = "makeFusedUnary";
}

// `value` is a host scalar, whose name differs among the operators of aclnn.
class ScalarKernel<string kernelName> : UnaryKernel<kernelName> {
  let cann = "tensor(self), scalar(value), tensor(out)";
  let attributes = (attrs Double:$value);
}

class BinaryKernel<string kernelName> : Kernel<kernelName, "makeBinary"> {
  let cann = "tensor(self), tensor(other), tensor(out)";
  let description = "Shapes broadcast as in NumPy; `alpha` is 1.";
  let inputs = (ins In:$self, In:$other);
  let outputs = (outs OutOrSameAs<["self", "other"]>:$out);
  let kind = "elementwise";
  let fusion = "FusionKind::Elements";
  let fusedFactory = "makeFusedBinary";
}

class ActivationBackwardKernel<string kernelName>
    : Kernel<kernelName, "makeActivationBackward"> {
  let cann = "tensor(gradOutput), tensor(self), tensor(gradInput)";
  let parts = "+*, * -> *";
  let inputs = (ins In:$gradOutput, In:$self);
  let outputs = (outs OutOrSameAs<["gradOutput", "self"]>:$gradInput);
  let kind = "activation_grad";
  let fusion = "FusionKind::Elements";
  let fusedFactory = "makeFusedActivationBackward";
}

def Add : BinaryKernel<"aclnnAdd"> {
  let cann = "tensor(self), tensor(other), scalar(1), tensor(out)";
  let summary = "self + other";
  let parts = "+*, +* -> *";
  let profiled = ["Add", "AddV2"];
}
def Sub : BinaryKernel<"aclnnSub"> {
  let cann = "tensor(self), tensor(other), scalar(1), tensor(out)";
  let summary = "self - other";
  let parts = "+*, +* -> *";
  let profiled = ["Sub"];
}
def Mul : BinaryKernel<"aclnnMul"> {
  let summary = "self * other";
  let parts = "^*, ^* -> *";
  let description = "Shapes broadcast as in NumPy.";
  let profiled = ["Mul"];
}

def Maximum : BinaryKernel<"aclnnMaximum"> {
  let summary = "the larger of self and other";
  let description = "Shapes broadcast as in NumPy.";
  let parts = "*, * -> >*";
  let profiled = ["Maximum"];
}

def Adds : ScalarKernel<"aclnnAdds"> {
  let cann = "tensor(self), scalar(value), scalar(1), tensor(out)";
  let cannHeaders = ["add"];
  let summary = "self + value";
  let profiled = ["Adds"];
}
def Muls : ScalarKernel<"aclnnMuls"> {
  let cann = "tensor(self), scalar(value), tensor(out)";
  let cannHeaders = ["mul"];
  let summary = "self * value";
  let parts = "+* -> *";
  let profiled = ["Muls"];
}
def ClampMax : ScalarKernel<"aclnnClampMax"> {
  let summary = "min(self, value)";
  let cann = "tensor(self), scalar(value), tensor(out)";
  let cannHeaders = ["clamp"];
}
def ClampMin : ScalarKernel<"aclnnClampMin"> {
  let summary = "max(self, value)";
  let cann = "tensor(self), scalar(value), tensor(out)";
  let cannHeaders = ["clamp"];
}

def Neg : UnaryKernel<"aclnnNeg"> {
  let summary = "-self";
  let parts = "+* -> *";
  let profiled = ["Neg"];
}
def Reciprocal : UnaryKernel<"aclnnReciprocal"> {
  let summary = "1 / self";
  let profiled = ["Reciprocal"];
}
def Sqrt : UnaryKernel<"aclnnSqrt"> {
  let summary = "square root";
  let profiled = ["Sqrt"];
}
def Silu : UnaryKernel<"aclnnSilu"> {
  let summary = "self * sigmoid(self)";
  let kind = "activation";
  let profiled = ["Silu", "Swish"];
}
def Gelu : UnaryKernel<"aclnnGelu"> {
  let summary = "Gaussian error linear unit, in its tanh form";
  let kind = "activation";
  let profiled = ["Gelu", "GeluV2"];
}
def FastGelu : UnaryKernel<"aclnnFastGelu"> {
  let summary = "Gaussian error linear unit as self * sigmoid(1.702 self)";
  let kind = "activation";
  let profiled = ["FastGelu"];
}

def SiluBackward : ActivationBackwardKernel<"aclnnSiluBackward"> {
  let summary = "gradient of aclnnSilu";
  let profiled = ["SiluGrad", "SwishGrad"];
}
def GeluBackward : ActivationBackwardKernel<"aclnnGeluBackward"> {
  let cann = "";
  let cannBody = [{
    char form[] = "tanh";
    stream.call(MF_CANN(aclnnGeluBackwardV2), tensor(gradOutput),
                tensor(self), form, tensor(gradInput));}];
  let cannHeaders = ["gelu_backward_v2"];
  let summary = "gradient of aclnnGelu";
  let profiled = ["GeluGrad", "GeluGradV2"];
}
def FastGeluBackward : ActivationBackwardKernel<"aclnnFastGeluBackward"> {
  let summary = "gradient of aclnnFastGelu";
  let profiled = ["FastGeluGrad"];
}

def Cast : Kernel<"aclnnCast", "makeCast"> {
  let cann = "tensor(self), out.type, tensor(out)";
  let summary = "conversion to the element type of out";
  let parts = "+* -> *";
  let description = "Rounds to nearest even; integers truncate and saturate.";
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let kind = "cast";
  let fusion = "FusionKind::Elements";
  let fusedFactory = "makeFusedCast";
  let profiled = ["Cast"];
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

def Cat : Kernel<"aclnnCat", "makeCat"> {
  let cann = "list(tensors), axis, tensor(out)";
  let summary = "tensors one after another along an axis";
  let parts = "getConcatenatedParts(spec)";
  let description = "`axis` is aclnn's dim.";
  let inputs = (ins VariadicIn:$tensors);
  let outputs = (outs Out:$out);
  let attributes = (attrs Int:$axis);
  let kind = "copy";
  let fusion = "getFusionOfConcatenation(spec)";
  let fusedFactory = "makeFusedCat";
  let profiled = ["ConcatD"];
}

def ConstantPadNd : Kernel<"aclnnConstantPadNd", "makePad"> {
  let cann = [{tensor(self), ints(getPadding(low, high)),
              scalar(static_cast<double>(value)), tensor(out)}];
  let summary = "zeros, or a value, around a tensor";
  let parts = "getResizedParts(spec)";
  let description = [{`low` and `high` are aclnn's `pad`, which begins with the
    last dimension; `value` is 0 if it is not there.}];
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let attributes = (attrs Ints:$low, Ints:$high, OptionalInt:$value);
  let kind = "copy";
  let fusion = "getFusionOfResize(spec)";
  let fusedFactory = "makeFusedPad";
  let profiled = ["Pad", "PadD", "PadV3"];
}

def InplaceCopy : Kernel<"aclnnInplaceCopy", "makeInplaceCopy"> {
  let cann = "tensor(selfRef), tensor(src)";
  let cannHeaders = ["copy"];
  let summary = "selfRef = src";
  let parts = "+* -> *";
  let inputs = (ins In:$src);
  let outputs = (outs Out:$selfRef);
  let kind = "copy";
  let profiled = ["TensorMove", "Identity"];
}

def InplaceZero : Kernel<"aclnnInplaceZero", "makeInplaceZero"> {
  let cann = "tensor(selfRef)";
  let cannHeaders = ["zero"];
  let summary = "selfRef = 0";
  let parts = "-> *";
  let outputs = (outs Out:$selfRef);
  let kind = "copy";
  let profiled = ["ZerosLike", "MemSet"];
}

def Permute : Kernel<"aclnnPermute", "makePermute"> {
  let cann = "tensor(self), ints(perm), tensor(out)";
  let summary = "permutation of dimensions";
  let parts = "getPermutedParts(spec)";
  let description = "Dimension i of the result is dimension `perm[i]` of self.";
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let attributes = (attrs Ints:$perm);
  let kind = "transpose";
  let measures = [Measure<"run_bytes", "getPermutedRunBytes(spec)">];
  let profiled = ["Transpose", "TransposeD"];
  let fromProfile = "takeProfiledPermutation(spec)";
}

def OwnPart : Kernel<"mfOwnPart", "makeOwnPart"> {
  let cannBody = [{
    CannTensor slice = out;
    slice.dims.insert(1, 1);
    stream.call(MF_CANN(aclnnIndexSelect), tensor(self), int64_t{1}, tensor(part),
                tensor(slice));}];
  let cannHeaders = ["index_select"];
  let summary = "self[:, part]";
  let parts = "+aib, &b -> ab";
  let description = [{self has three dimensions. `part` is a tensor, since all
    ranks run one program. It is clamped to the valid indices.}];
  let inputs = (ins In:$self, In:$part);
  let outputs = (outs Out:$out);
  let kind = "copy";
  let bytes = "spec.inputs[1].getBytes() + 2 * spec.outputs[0].getBytes()";
}

def RepeatInterleave : Kernel<"aclnnRepeatInterleaveIntWithDim", "makeRepeat"> {
  let cann = [{tensor(self), repeats, axis,
              out.dims[static_cast<size_t>(axis)], tensor(out)}];
  let cannHeaders = ["repeat_interleave"];
  let summary = "each slice along an axis repeated in place";
  let parts = "getRepeatedParts(spec)";
  let description = "`axis` is aclnn's dim.";
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let attributes = (attrs Int:$axis, Int:$repeats);
  let kind = "copy";
  let profiled = ["RepeatInterleave", "Tile", "TileD"];
}

def Slice : Kernel<"aclnnSliceV2", "makeSlice"> {
  let cann = [{tensor(self), ints(starts), ints(getSum(starts, sizes)),
              ints(getAxes(starts)), ints(getOnes(starts)), tensor(out)}];
  let summary = "a contiguous part of each dimension";
  let parts = "getResizedParts(spec)";
  let description = [{aclnn's ends are `starts` plus `sizes`. All axes are
    listed, and aclnn's `steps` are 1.}];
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let attributes = (attrs Ints:$starts, Ints:$sizes);
  let kind = "copy";
  let fusion = "getFusionOfResize(spec)";
  let fusedFactory = "makeFusedSlice";
  let bytes = "2 * spec.outputs[0].getBytes()";
  let profiled = ["Slice", "SliceD", "StridedSlice", "StridedSliceD",
                  "StridedSliceV3"];
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

def Chain : Kernel<"mfChain", "makeChain"> {
  let summary = "several kernels, run as one without buffers in between";
  let description = [{Each kernel has its own element type and
    rounding, so that the bits are those of the kernels run one by one. Intermediate values stay in on-chip memory. `bytes` are those of the inputs
    and of the result, and the time on a target is the sum over the kernels
    (costs.md). The parts that ranks hold follow from the rules of the kernels;
    the rule here is weaker.}];
  let parts = "getChainParts(spec)";
  let inputs = (ins VariadicIn:$inputs);
  let outputs = (outs OutOrSameAs<["inputs"]>:$out);
  let attributes = (attrs Kernels:$steps);
  let kind = "elementwise";
  let flops = "sumFlops(getFusedSpecs(spec))";
  let members = "getFusedSpecs(spec)";
  // Profilers do not list the kernels.
  let fromProfile = "false";
}

//===----------------------------------------------------------------------===//
// Matrix products and attention, embedding and loss
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendProductKernels.td"
include "dialects/ascend/AscendHybridAttentionKernels.td"
include "dialects/ascend/AscendVocabularyKernels.td"

//===----------------------------------------------------------------------===//
// Rows: norms, softmax, gates, rotary embedding
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendNormKernels.td"
include "dialects/ascend/AscendHyperConnectionKernels.td"

//===----------------------------------------------------------------------===//
// Routers of experts
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendRouterKernels.td"

//===----------------------------------------------------------------------===//
// Gradients and the optimizer
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendOptimizerKernels.td"
