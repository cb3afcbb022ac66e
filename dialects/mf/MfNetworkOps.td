//===- MfNetworkOps.td - Matrix products, norms, activations ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_NETWORK_OPS_TD
#define MF_NETWORK_OPS_TD

include "dialects/mf/MfOpBase.td"

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def Mf_MatmulOp : Mf_ComputeOp<"matmul", "aclnnMatmul",
    (ins Mf_FloatTensor:$lhs, Mf_FloatTensor:$rhs),
    (ins DefaultValuedAttr<BoolAttr, "false">:$transpose_a,
         DefaultValuedAttr<BoolAttr, "false">:$transpose_b,
         DefaultValuedAttr<BoolAttr, "false">:$contract_batch),
    (outs Mf_FloatTensor:$result), [Mf_Differentiable]> {
  let trainer = [{ 
    // The trainer's product keeps both operands, also if one is frozen.
    if (tape.needsGradient(getLhs()) || tape.needsGradient(getRhs())) {
      tape.keep(getLhs());
      tape.keep(getRhs());
    }
    tape.useWorkspace(::mf::ir::matmulWorkspace, ::mf::ir::matmulWorkspace);
   }];
  let summary = "matrix product over the last two dimensions";
  let description = [{
    `lhs` is [..., m, k] and `rhs` [..., k, n]; `transpose_a` and `transpose_b`
    mean that an operand is stored with its last two dimensions swapped. A
    two-dimensional `rhs` is shared by all leading dimensions of `lhs`, as a
    weight is; otherwise the leading dimensions are equal. `contract_batch`,
    with `transpose_a`, sums over the leading dimensions: the gradient of a
    shared weight. Sums in fp32.
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 CArg<"bool", "false">:$transposeA,
                                 CArg<"bool", "false">:$transposeB,
                                 CArg<"bool", "false">:$contractBatch)>];
}

//===----------------------------------------------------------------------===//
// Normalisation and softmax
//===----------------------------------------------------------------------===//

def Mf_RmsNormOp : Mf_ComputeOp<"rms_norm", "aclnnRmsNorm",
    (ins Mf_FloatTensor:$input, Mf_FloatTensor:$gamma), (ins F64Attr:$epsilon),
    (outs Mf_FloatTensor:$result, Mf_FloatTensor:$rstd),
    [Mf_Differentiable, AllTypesMatch<["input", "result"]>]> {
  let trainer = [{ 
    tape.makeLike(getResult(), tape.readUncast(getInput(), /*isKept=*/true));
    tape.keep(getRstd());
    tape.useWorkspace(::mf::ir::normWorkspace, ::mf::ir::normWorkspace);
   }];
  let summary = "root-mean-square normalisation over the last dimension";
  let description = [{
    result = input * rstd * gamma with rstd = 1/sqrt(mean(input^2) + epsilon),
    in fp32; `rstd` has the input's shape without its last dimension
    (Zhang and Sennrich, 2019).
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$gamma,
                                 "double":$epsilon)>];
}

def Mf_RmsNormGradOp : Mf_ComputeOp<"rms_norm_grad", "aclnnRmsNormGrad",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input,
         Mf_FloatTensor:$rstd, Mf_FloatTensor:$gamma), (ins),
    (outs Mf_FloatTensor:$input_gradient, Mf_FloatTensor:$gamma_gradient),
    [AllTypesMatch<["output_gradient", "input", "input_gradient"]>,
     AllTypesMatch<["gamma", "gamma_gradient"]>]> {
  let summary = "gradients of mf.rms_norm";
  let description = [{
    Computes the gradients of the input and of the weight. `rstd` is a result of
    `mf.rms_norm`.

    ```mlir
    %dx, %dgamma = mf.rms_norm_grad %dy, %x, %rstd, %gamma : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    ```
  }];
}

def Mf_LayerNormOp : Mf_ComputeOp<"layer_norm", "aclnnLayerNorm",
    (ins Mf_FloatTensor:$input, Mf_FloatTensor:$weight, Mf_FloatTensor:$bias),
    (ins F64Attr:$eps),
    (outs Mf_FloatTensor:$result, Mf_FloatTensor:$mean, Mf_FloatTensor:$rstd),
    [Mf_Differentiable, AllTypesMatch<["input", "result"]>,
     AllTypesMatch<["weight", "bias"]>]> {
  let trainer = [{ 
    tape.makeLike(getResult(), tape.readUncast(getInput(), /*isKept=*/true));
    tape.keep(getMean());
    tape.keep(getRstd());
   }];
  let summary = "normalisation over the last dimension";
  let description = [{
    result = (input - mean) * rstd * weight + bias with rstd = 1/sqrt(variance +
    eps), in fp32; `mean` and `rstd` have the input's shape without its last
    dimension (Ba et al., 2016).

    ```mlir
    %y, %mean, %rstd = mf.layer_norm %x, %weight, %bias {..., name = "layernorm1.layer_norm"}
        : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
        -> (tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight,
                                 "::mlir::Value":$bias, "double":$eps)>];
}

def Mf_LayerNormGradOp : Mf_ComputeOp<"layer_norm_grad",
    "aclnnLayerNormBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input,
         Mf_FloatTensor:$mean, Mf_FloatTensor:$rstd, Mf_FloatTensor:$weight),
    (ins),
    (outs Mf_FloatTensor:$input_gradient,
          Variadic<Mf_FloatTensor>:$factor_gradients),
    [AllTypesMatch<["output_gradient", "input", "input_gradient"]>]> {
  let summary = "gradients of mf.layer_norm";
  let description = [{
    `factor_gradients` are those of weight and bias, or empty if neither is trained.

    ```mlir
    %dx, %dfactors:2 = mf.layer_norm_grad %dy, %x, %mean, %rstd, %weight
        : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>,
           tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let hasVerifier = 1;
}

def Mf_SoftmaxOp : Mf_ComputeOp<"softmax", "aclnnSoftmax",
    (ins Mf_FloatTensor:$input), (ins), (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, SameOperandsAndResultType]> {
  let trainer = [{ tape.keep(getResult()); }];
  let summary = "softmax over the last dimension";
  let description = [{
    Elements of a row are exponentials divided by the sum of their row. Its gradient reads
    the result.

    ```mlir
    %p = mf.softmax %x : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    ```
  }];
}

def Mf_SoftmaxGradOp : Mf_ComputeOp<"softmax_grad", "aclnnSoftmaxBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$output), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.softmax, from its result";
  let description = [{
    Computes the gradient of the input from that of the output and from the output.
  }];
}

def Mf_SinkhornOp : Mf_ComputeOp<"sinkhorn", "mfSinkhorn",
    (ins Mf_FloatTensor:$input), (ins I64Attr:$iterations, F64Attr:$epsilon),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, SameOperandsAndResultType]> {
  let trainer = [{ tape.keep(getInput()); }];
  let summary = "square matrices made nearly doubly stochastic";
  let description = [{
    The matrices are in the last two dimensions. First comes the softmax of each
    row plus `epsilon`, divided by (the sum of its column + `epsilon`). Each further
    iteration divides by (row sums + `epsilon`), then by (column sums + `epsilon`)
    (Sinkhorn and Knopp, 1967). So columns sum to 1 but for `epsilon`, and rows
    nearly. 0 iterations are as one.

    Backward repeats the iterations from the input, so that none of the matrices in
    between is kept.

    ```mlir
    %m = mf.sinkhorn %x {epsilon = 9.9999999999999995E-7 : f64, iterations = 20 : i64}
        : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$iterations,
                                 "double":$epsilon)>];
}

def Mf_SinkhornGradOp : Mf_ComputeOp<"sinkhorn_grad", "mfSinkhornBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input),
    (ins I64Attr:$iterations, F64Attr:$epsilon),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.sinkhorn";
  let description = [{
    Computes the gradient of the input from that of the output and from the input, with
    the same number of iterations.
  }];
}

//===----------------------------------------------------------------------===//
// Fused operators
//===----------------------------------------------------------------------===//

def Mf_RotaryPositionEmbeddingOp : Mf_ComputeOp<"rotary_position_embedding",
    "aclnnRotaryPositionEmbedding",
    (ins Mf_FloatTensor:$input, Mf_FloatTensor:$cosine,
         Mf_FloatTensor:$sine),
    (ins OptionalAttr<BoolAttr>:$interleaved, OptionalAttr<I64Attr>:$start),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, AllTypesMatch<["input", "result"]>,
     AllTypesMatch<["cosine", "sine"]>]> {
  let summary = "rotary position embedding of pairs in the last dimension";
  let description = [{
    The result is x cos + (-second half, first half) sin, in fp32 (Su et al., 2021).
    With `interleaved` neighbours are the pairs, and a pair (a, b) at places 2i and
    2i + 1 becomes (a cos - b sin, b cos + a sin). The tables have a number for each
    place of both. If their last dimension is smaller than that of the input, the
    elements from `start` on, by default 0, are rotated, and the others stay. The
    tables have the trailing dimensions of the input before the last one, of which
    each may be 1. Their type is that of the input or fp32. They have no gradient.

    ```mlir
    %y = mf.rotary_position_embedding %x, %cos, %sin {name = "attention.apply_rotary_emb.rope"}
        : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
    %z = mf.rotary_position_embedding %x, %cos_pairs, %sin_pairs {interleaved = true, name = "attention.apply_rotary_emb.rope", start = 4 : i64}
        : (tensor<1x2x4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x8xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$cosine,
                                 "::mlir::Value":$sine,
                                 CArg<"bool", "false">:$interleaved,
                                 CArg<"int64_t", "0">:$start)>];
}

def Mf_RotaryPositionEmbeddingGradOp : Mf_ComputeOp<
    "rotary_position_embedding_grad", "aclnnRotaryPositionEmbeddingGrad",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$cosine,
         Mf_FloatTensor:$sine),
    (ins OptionalAttr<BoolAttr>:$interleaved, OptionalAttr<I64Attr>:$start),
    (outs Mf_FloatTensor:$input_gradient),
    [AllTypesMatch<["output_gradient", "input_gradient"]>]> {
  let summary = "gradient of mf.rotary_position_embedding";
  let description = [{
    Rotates the gradient by the same angles in the other direction.
  }];
}

def Mf_SwiGluOp : Mf_ComputeOp<"swiglu", "aclnnSwiGlu",
    (ins Mf_FloatTensor:$input), (ins), (outs Mf_FloatTensor:$result),
    [Mf_Differentiable]> {
  let trainer = [{ tape.keep(getInput()); }];
  let summary = "silu(gate) * up of the two rows of the last two dimensions";
  let description = [{
    `input` is [..., 2, width], the gate before the up projection, and the
    result [..., width] (Shazeer, 2020). A tensor whose last dimension holds both
    halves has an input of this shape as a view.

    ```mlir
    %y = mf.swiglu %x {name = "feed_forward.swiglu"}
        : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Mf_SwiGluGradOp : Mf_ComputeOp<"swiglu_grad", "aclnnSwiGluGrad",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input), (ins),
    (outs Mf_FloatTensor:$input_gradient),
    [AllTypesMatch<["input", "input_gradient"]>]> {
  let summary = "gradient of mf.swiglu";
  let description = [{
    Computes the gradient of the input, of both halves, from that of the output and from
    the input.
  }];
}

#endif // MF_NETWORK_OPS_TD
