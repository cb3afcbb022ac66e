//===- MfDropoutOps.td - Dropout ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DROPOUT_OPS_TD
#define MF_DROPOUT_OPS_TD

include "dialects/mf/MfOpBase.td"

def Mf_DropoutMaskOp : Mf_ComputeOp<"dropout_mask", "",
    (ins Mf_FloatTensor:$input, Mf_DrawTensor:$draw,
         Variadic<Mf_IndexTensor>:$firsts),
    (ins F64Attr:$rate, StrAttr:$source, DenseI64ArrayAttr:$shape,
         DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$cut_dims,
         OptionalAttr<I64Attr>:$columns),
    (outs Mf_MaskTensor:$mask),
    [Mf_OwnShardingRuleWith<["localize", "takePiece"]>,
     Mf_PiecewiseConstant],
    ["isView", "mayRecompute", "getKernelAttributes", "getEngine", "getFlops",
     "emitInstructions"]> {
  let summary = "random bits, each 0 with probability `rate`: the elements to drop";
  let description = [{
    A bit is a function of the seed, the number of the step's update and that of
    the micro-batch, which are the elements of `draw`; of `source`, a name that no
    other operator of the model has; and of the index of its element in the whole
    tensor, whose sizes are `shape`. So the bit does not depend on the layout, on
    the order of execution or on recomputation. The mask has the shape of `input`,
    whose values are not read. With `columns` its last dimension has that many
    elements instead, one per key for the probabilities of attention.

    The mask is the part of the whole that begins at `starts`. In each dimension of
    `cut_dims` it begins later by the number in the tensor of `firsts` that belongs
    to it, which a rank reads from a table.

    The mask is kept for backward and never computed again, as on Ascend.

    ```mlir
    %mask = mf.dropout_mask %x, %draw, %first {cut_dims = array<i64: 1>, name = "dropout", rate = 1.000000e-01 : f64, shape = array<i64: 1, 8, 16>, source = "layers.0.dropout", starts = array<i64: 0, 0, 0>}
        : (tensor<1x4x16xf32>, tensor<3xi64>, tensor<1xi32>) -> tensor<1x4x16xi1>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$draw,
                                 "double":$rate, "::llvm::StringRef":$source,
                                 CArg<"int64_t", "0">:$columns)>];
}

def Mf_DropoutOp : Mf_ComputeOp<"dropout", "aclnnDropoutDoMask",
    (ins Mf_FloatTensor:$input, Mf_MaskTensor:$mask), (ins F64Attr:$rate),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, Mf_OwnShardingRule,
     AllTypesMatch<["input", "result"]>]> {
  let trainer = [{ tape.keep(getMask()); }];
  let summary = "input / (1 - rate) where the mask is 1, else 0";
  let description = [{
    The gradient is mf.dropout of the result's gradient with the same mask
    (Srivastava et al., 2014).

    ```mlir
    %y = mf.dropout %x, %mask {name = "dropout", rate = 1.000000e-01 : f64}
        : (tensor<1x4x16xf32>, tensor<1x4x16xi1>) -> tensor<1x4x16xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$mask,
                                 "double":$rate)>];
}

#endif // MF_DROPOUT_OPS_TD
