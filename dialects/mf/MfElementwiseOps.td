//===- MfElementwiseOps.td - Elementwise operators -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_ELEMENTWISE_OPS_TD
#define MF_ELEMENTWISE_OPS_TD

include "dialects/mf/MfOpBase.td"

class Mf_BinaryOp<string mnemonic, string kernel>
    : Mf_ComputeOp<mnemonic, kernel,
                   (ins Mf_FloatTensor:$lhs, Mf_FloatTensor:$rhs), (ins),
                   (outs Mf_FloatTensor:$result),
                   [Mf_Differentiable, AllTypesMatch<["lhs", "result"]>]> {
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, lhs.getType(), lhs, rhs, nullptr, nullptr, nullptr);
  }]>];
}

class Mf_UnaryOp<string mnemonic, string kernel, dag attributes = (ins)>
    : Mf_ComputeOp<mnemonic, kernel, (ins Mf_FloatTensor:$input),
                   attributes, (outs Mf_FloatTensor:$result),
                   [Mf_Differentiable, SameOperandsAndResultType]>;

def Mf_AddOp : Mf_BinaryOp<"add", "aclnnAdd"> {
  let summary = "elementwise sum";
  let description = [{
    `rhs` may have fewer dimensions, or dimensions of one element: it is
    broadcast over those of `lhs` (a bias, a mask).
  }];
}

def Mf_MulOp : Mf_BinaryOp<"mul", "aclnnMul"> {
  let trainer = [{ 
    tape.keepFor(getLhs(), getRhs());
    tape.keepFor(getRhs(), getLhs());
   }];
  let summary = "elementwise product";
  let description = [{
    `rhs` may have fewer dimensions, or dimensions of one element: it is
    broadcast over those of `lhs` (a rotary table). Backward needs each operand
    whose counterpart has a gradient.
  }];
}

def Mf_DivOp : Mf_BinaryOp<"div", "aclnnDiv"> {
  let trainer = [{ 
    tape.keepFor(getRhs(), getLhs());
    tape.keepFor(getLhs(), getRhs());
   }];
  let summary = "elementwise quotient";
  let description = [{
    `rhs` is broadcast as in `mf.mul`. The gradient of `lhs` needs `rhs`, and the
    gradient of `rhs` needs `rhs` and the result.
  }];
}

def Mf_MaximumOp : Mf_ComputeOp<"maximum", "aclnnMaximum",
    (ins Mf_FloatTensor:$lhs, Mf_FloatTensor:$rhs), (ins),
    (outs Mf_FloatTensor:$result),
    [AllTypesMatch<["lhs", "rhs", "result"]>]> {
  let summary = "the larger of two elements";
  let description = [{
    Of each pair of elements the larger one. Both operands have the same shape.

    ```mlir
    %larger = mf.maximum %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ```
  }];
}

def Mf_ScaleOp : Mf_UnaryOp<"scale", "aclnnMuls", (ins F64Attr:$value)> {
  let summary = "product with a constant";
  let description = [{
    Each element is multiplied by `value`.

    ```mlir
    %scaled = mf.scale %x {value = 1.250000e-01 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Mf_NegOp : Mf_UnaryOp<"neg", "aclnnNeg"> {
  let summary = "negation";
  let description = [{
    Each element with the other sign.

    ```mlir
    %negated = mf.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Mf_SiluOp : Mf_UnaryOp<"silu", "aclnnSilu"> {
  let trainer = [{ tape.keep(getInput()); }];
  let summary = "x * sigmoid(x)";
  let description = [{
    The sigmoid linear unit of each element. Its gradient reads the input.

    ```mlir
    %y = mf.silu %x {...} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Mf_SiluGradOp : Mf_ComputeOp<"silu_grad", "aclnnSiluBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.silu";
  let description = [{
    Computes the gradient of the input from that of the output and from the input.

    ```mlir
    %dx = mf.silu_grad %dy, %x {...} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Mf_GeluOp : Mf_UnaryOp<"gelu", "aclnnGelu"> {
  let trainer = [{ tape.keep(getInput()); }];
  let summary = "Gaussian error linear unit, in its tanh form";
  let description = [{
    x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel,
    2016).
  }];
}

def Mf_GeluGradOp : Mf_ComputeOp<"gelu_grad", "aclnnGeluBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.gelu";
  let description = [{
    Computes the gradient of the input from that of the output and from the input.

    ```mlir
    %dx = mf.gelu_grad %dy, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Mf_FastGeluOp : Mf_UnaryOp<"fast_gelu", "aclnnFastGelu"> {
  let trainer = [{ tape.keep(getInput()); }];
  let summary = "Gaussian error linear unit as x * sigmoid(1.702 x)";
  let description = [{
    An approximation of the Gaussian error linear unit. Its gradient reads the input.

    ```mlir
    %y = mf.fast_gelu %x {...} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Mf_FastGeluGradOp : Mf_ComputeOp<"fast_gelu_grad", "aclnnFastGeluBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.fast_gelu";
  let description = [{
    Computes the gradient of the input from that of the output and from the input.

    ```mlir
    %dx = mf.fast_gelu_grad %dy, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Mf_AddScalarOp : Mf_UnaryOp<"add_scalar", "aclnnAdds",
                                (ins F64Attr:$value)> {
  let summary = "sum with a constant";
  let description = [{
    `value` is added to each element.

    ```mlir
    %sum = mf.add_scalar %x {value = ...} : (tensor<f32>) -> tensor<f32>
    ```
  }];
}

def Mf_ExpOp : Mf_UnaryOp<"exp", "aclnnExp"> {
  let trainer = [{ tape.keepFor(getResult(), getInput()); }];
  let summary = "e to the power of x";
  let description = [{
    The exponential function of each element. Its gradient reads the result.
  }];
}

def Mf_LogOp : Mf_UnaryOp<"log", "aclnnLog"> {
  let trainer = [{ tape.keep(getInput()); }];
  let summary = "natural logarithm";
  let description = [{
    The natural logarithm of each element. Its gradient reads the input.
  }];
}

def Mf_SigmoidOp : Mf_UnaryOp<"sigmoid", "aclnnSigmoid"> {
  let trainer = [{ tape.keepFor(getResult(), getInput()); }];
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    The logistic function of each element. Its gradient reads the result.
  }];
}

def Mf_SigmoidGradOp : Mf_ComputeOp<"sigmoid_grad", "aclnnSigmoidBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$output), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.sigmoid, from its result";
  let description = [{
    Computes the gradient of the input from that of the output and from the output.
  }];
}

def Mf_SqrtSoftplusOp : Mf_UnaryOp<"sqrt_softplus", "mfSqrtSoftplus"> {
  let trainer = [{ tape.keep(getInput()); }];
  let summary = "sqrt(ln(1 + exp(x)))";
  let description = [{
    Positive for all x, and finite for all finite x. It is one operator because
    its gradient is finite where that of the square root alone is not: at an x
    so low that ln(1 + exp(x)) is 0 in fp32.

    ```mlir
    %y = mf.sqrt_softplus %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
}

def Mf_SqrtSoftplusGradOp : Mf_ComputeOp<"sqrt_softplus_grad",
    "mfSqrtSoftplusBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.sqrt_softplus";
  let description = [{
    Computes the gradient of the input from that of the output and from the input.
  }];
}

// A piecewise constant operator, whose gradient is zero wherever it is defined.
class Mf_StepwiseOp<string mnemonic, string kernel, dag attributes,
                    list<string> overridden = []>
    : Mf_ComputeOp<mnemonic, kernel, (ins Mf_FloatTensor:$input), attributes,
                   (outs Mf_FloatTensor:$result),
                   [Mf_PiecewiseConstant, SameOperandsAndResultType],
                   overridden>;

def Mf_CompareScalarOp : Mf_StepwiseOp<"compare_scalar", "",
    (ins Mf_ComparisonAttr:$comparison, F64Attr:$value),
    ["getKernelAttributes", "isView"]> {
  let summary = "1 where a comparison with a constant holds, else 0";
  let description = [{
    No gradient flows through the operator.

    ```mlir
    %kept = mf.compare_scalar %gate {comparison = #mf.comparison<greater>, value = 0.000000e+00 : f64}
        : (tensor<3x2xf32>) -> tensor<3x2xf32>
    ```
  }];
  let extraClassDefinition = "";
}

def Mf_AtLeastOp : Mf_ComputeOp<"at_least", "aclnnGeTensor",
    (ins Mf_FloatTensor:$lhs, Mf_FloatTensor:$rhs), (ins),
    (outs Mf_FloatTensor:$result),
    [Mf_PiecewiseConstant, AllTypesMatch<["lhs", "result"]>]> {
  let summary = "1 where the left operand is not below the right one, else 0";
  let description = [{
    `rhs` is broadcast as in `mf.mul`. No gradient flows through the operator.
  }];
  let hasVerifier = 1;
}

def Mf_FloorDivideOp : Mf_StepwiseOp<"floor_divide", "aclnnFloorDivides",
                                     (ins F64Attr:$value)> {
  let summary = "quotient with a constant, rounded down";
  let description = [{
    Each element is divided by `value`, and the quotient is rounded towards minus
    infinity. The gradient is zero.

    ```mlir
    %choice = mf.floor_divide %place {value = 2.000000e+00 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    ```
  }];
}

def Mf_RemainderOp : Mf_ComputeOp<"remainder", "aclnnRemainderTensorScalar",
    (ins Mf_FloatTensor:$input), (ins F64Attr:$value),
    (outs Mf_FloatTensor:$result), [SameOperandsAndResultType]> {
  let summary = "remainder of mf.floor_divide, with the constant's sign";
  let description = [{
    What a division by `value` leaves of each element: x - `value` * floor(x / `value`).
    The result has the sign of `value`.

    ```mlir
    %token = mf.remainder %place {value = 3.000000e+00 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    ```
  }];
}

def Mf_StopGradientOp : Mf_ComputeOp<"stop_gradient", "",
    (ins Mf_FloatTensor:$input), (ins), (outs Mf_FloatTensor:$result),
    [Mf_PiecewiseConstant, Mf_OwnShardingRule, SameOperandsAndResultType]> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "the same value, through which no gradient flows; a view";
  let description = [{
    ```mlir
    %y = mf.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
}

def Mf_CastOp : Mf_ComputeOp<"cast", "aclnnCast",
    (ins Mf_AnyTensor:$input), (ins), (outs Mf_AnyTensor:$result),
    [Mf_Differentiable, SameOperandsAndResultShape,
     DeclareOpInterfaceMethods<CastOpInterface>]> {
  let trainer = [{ tape.convert(getResult(), getInput()); }];
  let summary = "conversion to another element type";
  let description = [{
    Rounds to nearest even and keeps NaN; to integers it truncates.
  }];
  let hasFolder = 1;
}

#endif // MF_ELEMENTWISE_OPS_TD
