//===- MfElementwiseOps.td - Elementwise operators -------------*- tablegen -*-===//

#ifndef MF_ELEMENTWISE_OPS_TD
#define MF_ELEMENTWISE_OPS_TD

include "dialects/mf/MfOpBase.td"

class Mf_BinaryOp<string mnemonic, string kernel>
    : Mf_ComputeOp<mnemonic, kernel,
                   (ins Mf_FloatTensor:$lhs, Mf_FloatTensor:$rhs), (ins),
                   (outs Mf_FloatTensor:$result),
                   [Mf_Differentiable, Mf_Shardable,
                    AllTypesMatch<["lhs", "result"]>]> {
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, lhs.getType(), lhs, rhs, nullptr, nullptr, nullptr);
  }]>];
}

class Mf_UnaryOp<string mnemonic, string kernel, dag attributes = (ins)>
    : Mf_ComputeOp<mnemonic, kernel, (ins Mf_FloatTensor:$input),
                   attributes, (outs Mf_FloatTensor:$result),
                   [Mf_Differentiable, Mf_Shardable,
                    SameOperandsAndResultType]>;

def Mf_AddOp : Mf_BinaryOp<"add", "aclnnAdd"> {
  let summary = "elementwise sum";
  let description = [{
    `rhs` may have fewer dimensions: it is repeated over the leading dimensions
    of `lhs` (a bias, a mask). Residual additions, bias and mask additions.
  }];
}

def Mf_MulOp : Mf_BinaryOp<"mul", "aclnnMul"> {
  let summary = "elementwise product";
  let description = [{
    `rhs` may have fewer dimensions: it is repeated over the leading dimensions
    of `lhs` (a rotary table). Keeps both operands for backward, as far as
    their gradients are needed.
  }];
}

def Mf_ScaleOp : Mf_UnaryOp<"scale", "aclnnMuls", (ins F64Attr:$value)> {
  let summary = "product with a constant";
}

def Mf_NegOp : Mf_UnaryOp<"neg", "aclnnNeg"> {
  let summary = "negation";
}

def Mf_SiluOp : Mf_UnaryOp<"silu", "aclnnSilu"> {
  let summary = "x * sigmoid(x)";
}

def Mf_SiluGradOp : Mf_ComputeOp<"silu_grad", "aclnnSiluBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.silu";
}

def Mf_CastOp : Mf_ComputeOp<"cast", "aclnnCast",
    (ins Mf_FloatTensor:$input), (ins), (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, Mf_Shardable, SameOperandsAndResultShape,
     DeclareOpInterfaceMethods<CastOpInterface>]> {
  let summary = "conversion to another element type";
  let description = [{Rounds to nearest even; keeps NaN.}];
  let hasFolder = 1;
}

#endif // MF_ELEMENTWISE_OPS_TD
