//===- MfHyperConnectionOps.td - Several residual streams ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The two parts of a site of manifold-constrained hyper-connections (mHC, 2025),
// each as one kernel. The n streams of a token are side by side in the last
// dimension, [batch, sequence, n * hidden].
//
//===----------------------------------------------------------------------===//

#ifndef MF_HYPER_CONNECTION_OPS_TD
#define MF_HYPER_CONNECTION_OPS_TD

include "dialects/mf/MfOpBase.td"

def Mf_MhcPreOp : Mf_ComputeOp<"mhc_pre", "aclnnMhcPreSinkhorn",
    (ins Mf_FloatTensor:$streams, Mf_FloatTensor:$weight,
         Mf_FloatTensor:$factors, Mf_FloatTensor:$bias),
    (ins I64Attr:$count, I64Attr:$iterations, F64Attr:$least, F64Attr:$epsilon),
    (outs Mf_FloatTensor:$result, Mf_FloatTensor:$shares,
          Mf_FloatTensor:$mixing, Mf_FloatTensor:$reads,
          Mf_FloatTensor:$projected, Mf_FloatTensor:$rstd,
          Mf_FloatTensor:$sums, Mf_FloatTensor:$matrices),
    [Mf_DifferentiableWith<["isDifferentiable"]>]> {
  let trainer = [{
    for (::mlir::Value value : {getStreams(), getReads(), getProjected(), getRstd(),
                                getSums(), getMatrices()})
      tape.keep(value);
   }];
  let summary = "what a layer reads of residual streams, and how they are mixed";
  let description = [{
    `streams` is [batch, sequence, n * hidden] with n = `count`, `weight` [n^2 + 2n,
    n * hidden], `factors` [3] and `bias` [n^2 + 2n]. All but the streams and
    `result` are fp32, as is the computation:

    1. projected = streams weight^T, and rstd = 1/sqrt(mean(streams^2) + epsilon)
       over all streams of a token;
    2. the numbers factor * rstd * projected + bias, with one factor for each of
       three parts of n, n and n^2 numbers;
    3. reads = sigmoid + `least` of the first part, shares = 2 sigmoid of the second,
       and mixing = mf.sinkhorn of the third, [batch, sequence, n, n];
    4. result = the sum of reads * stream, [batch, sequence, hidden].

    Gradients flow through `result`, `shares` and `mixing`. The other results are
    what the gradient reads beside the operands: `sums` and `matrices` have in their
    first dimension, of 2 * `iterations`, the divisors of the divisions of
    mf.sinkhorn and the matrices behind them. Of `matrices` the first are those
    before any division, and of `sums` the first are 0.

    ```mlir
    %y, %shares, %mixing, %reads, %projected, %rstd, %sums, %matrices = mf.mhc_pre %x, %w, %factors, %bias {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 3 : i64, least = 1.250000e-01 : f64, name = "attn_hc.mhc_pre"}
        : (tensor<1x4x8xbf16>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
        -> (tensor<1x4x4xbf16>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$streams,
                                 "::mlir::Value":$weight,
                                 "::mlir::Value":$factors,
                                 "::mlir::Value":$bias, "int64_t":$count,
                                 "int64_t":$iterations, "double":$least,
                                 "double":$epsilon)>];
}

def Mf_MhcPreGradOp : Mf_ComputeOp<"mhc_pre_grad",
    "aclnnMhcPreSinkhornBackward",
    (ins Mf_FloatTensor:$result_gradient, Mf_FloatTensor:$shares_gradient,
         Mf_FloatTensor:$mixing_gradient, Mf_FloatTensor:$streams,
         Mf_FloatTensor:$weight, Mf_FloatTensor:$factors,
         Mf_FloatTensor:$bias, Mf_FloatTensor:$reads,
         Mf_FloatTensor:$projected, Mf_FloatTensor:$rstd,
         Mf_FloatTensor:$sums, Mf_FloatTensor:$matrices),
    (ins F64Attr:$least),
    (outs Mf_FloatTensor:$streams_gradient, Mf_FloatTensor:$weight_gradient,
          Mf_FloatTensor:$factors_gradient, Mf_FloatTensor:$bias_gradient),
    [AllTypesMatch<["streams", "streams_gradient"]>,
     AllTypesMatch<["weight", "weight_gradient"]>,
     AllTypesMatch<["factors", "factors_gradient"]>,
     AllTypesMatch<["bias", "bias_gradient"]>]> {
  let summary = "gradients of mf.mhc_pre";
  let description = [{
    Computes the gradients of all operands from those of the first three results. The
    operands behind `bias` are results of mf.mhc_pre.
  }];
}

def Mf_MhcPostOp : Mf_ComputeOp<"mhc_post", "aclnnMhcPost",
    (ins Mf_FloatTensor:$streams, Mf_FloatTensor:$mixing,
         Mf_FloatTensor:$output, Mf_FloatTensor:$shares), (ins),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, AllTypesMatch<["streams", "result"]>]> {
  let trainer = [{
    for (::mlir::Value value : getOperands())
      tape.keep(value);
   }];
  let summary = "residual streams mixed, with a share of a layer's result added";
  let description = [{
    `streams` is [batch, sequence, n * hidden], `output` the layer's result [batch,
    sequence, hidden], `mixing` [batch, sequence, n, n] and `shares` [batch, sequence,
    n] in fp32. New stream j is the sum over i of mixing[i, j] * stream i, plus share j
    * output, in fp32.

    ```mlir
    %z = mf.mhc_post %x, %mixing, %y, %shares {name = "attn_hc.output_cell.mhc_post"}
        : (tensor<1x4x8xbf16>, tensor<1x4x2x2xf32>, tensor<1x4x4xbf16>, tensor<1x4x2xf32>) -> tensor<1x4x8xbf16>
    ```
  }];
  let hasVerifier = 1;
}

def Mf_MhcPostGradOp : Mf_ComputeOp<"mhc_post_grad", "aclnnMhcPostBackward",
    (ins Mf_FloatTensor:$result_gradient, Mf_FloatTensor:$streams,
         Mf_FloatTensor:$mixing, Mf_FloatTensor:$output,
         Mf_FloatTensor:$shares), (ins),
    (outs Mf_FloatTensor:$streams_gradient, Mf_FloatTensor:$mixing_gradient,
          Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$shares_gradient),
    [AllTypesMatch<["result_gradient", "streams", "streams_gradient"]>,
     AllTypesMatch<["mixing", "mixing_gradient"]>,
     AllTypesMatch<["output", "output_gradient"]>,
     AllTypesMatch<["shares", "shares_gradient"]>]> {
  let summary = "gradients of mf.mhc_post";
  let description = [{
    Computes the gradients of all operands from that of the result and from the
    operands.
  }];
}

#endif // MF_HYPER_CONNECTION_OPS_TD
