//===- MfExpertOps.td - Moving tokens to experts and back --*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Operators on rows of tokens that are ordered by expert. Tensors are [groups,
// ranks, rows, width]. The experts are distributed evenly over the ranks of a
// group. The rows of the experts of rank p follow one another, and `counts`
// [groups, ranks, experts of a rank] has their numbers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXPERT_OPS_TD
#define MF_EXPERT_OPS_TD

include "dialects/mf/MfOpBase.td"

//===----------------------------------------------------------------------===//
// Rows by index
//===----------------------------------------------------------------------===//

def Mf_GatherRowsOp : Mf_ComputeOp<"gather_rows", "mfGatherRows",
    (ins Mf_FloatTensor:$input, Mf_IndexTensor:$indices), (ins),
    (outs Mf_FloatTensor:$result), [Mf_Differentiable]> {
  let trainer = [{ ::mf::ir::recordOnTape(*this, tape); }];
  let summary = "rows by index, of each of the leading dimensions";
  let description = [{
    `input` is [..., rows, width], `indices` [..., places], the result
    [..., places, width]. An index outside of the rows reads zeros.

    ```mlir
    %y = mf.gather_rows %x, %order {name = "gather_sort"}
        : (tensor<2x3x4xf32>, tensor<2x6xi32>) -> tensor<2x6x4xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::mlir::Value":$indices)>];
}

def Mf_GatherRowsGradOp : Mf_ComputeOp<"gather_rows_grad",
    "mfGatherRowsBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_IndexTensor:$indices), (ins),
    (outs Mf_FloatTensor:$input_gradient)> {
  let summary = "gradient of mf.gather_rows, sums in the order of places";
  let description = [{
    Adds each row of the output's gradient to the row of the input that `indices` names.

    ```mlir
    %dx = mf.gather_rows_grad %dy, %order : (tensor<2x6x4xf32>, tensor<2x6xi32>) -> tensor<2x3x4xf32>
    ```
  }];
}

def Mf_TokenPermuteOp : Mf_ComputeOp<"token_permute", "aclnnMoeTokenPermute",
    (ins Mf_FloatTensor:$tokens, Mf_FloatTensor:$keys), (ins),
    (outs Mf_FloatTensor:$result, Mf_IndexTensor:$places),
    [Mf_Differentiable, Mf_OwnShardingRule,
     AllTypesMatch<["tokens", "result"]>]> {
  let trainer = [{ tape.keep(getPlaces()); }];
  let summary = "rows in the order of their keys";
  let description = [{
    Row i of `tokens` [..., rows, width] becomes row `places`[i] of the result. Keys
    are ascending, and rows with equal keys keep their order.
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$tokens,
                                 "::mlir::Value":$keys)>];
}

def Mf_TokenUnpermuteOp : Mf_ComputeOp<"token_unpermute",
    "aclnnMoeTokenUnpermute",
    (ins Mf_FloatTensor:$input, Mf_IndexTensor:$places), (ins),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, AllTypesMatch<["input", "result"]>]> {
  let trainer = [{ tape.keep(getPlaces()); }];
  let summary = "row `places`[i] as row i: undoes mf.token_permute";
  let description = [{
    Brings rows that are sorted by expert back into the order of tokens.

    ```mlir
    %back = mf.token_unpermute %permuted, %places : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    ```
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products by expert
//===----------------------------------------------------------------------===//

class Mf_ProductByExpertOp<string mnemonic, string kernel>
    : Mf_ComputeOp<mnemonic, kernel,
        (ins Mf_FloatTensor:$input, Mf_FloatTensor:$weight,
             Mf_FloatTensor:$counts),
        (ins DefaultValuedAttr<BoolAttr, "false">:$transpose_weight),
        (outs Mf_FloatTensor:$result), [Mf_Differentiable]> {
  let trainer = [{
    tape.keep(getInput());
    tape.keep(getWeight());
    tape.keep(getCounts());
    tape.useWorkspace(::mf::ir::groupedMatmulWorkspace,
                      ::mf::ir::groupedMatmulWorkspace);
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::mlir::Value":$weight,
                                 "::mlir::Value":$counts,
                                 CArg<"bool", "false">:$transposeWeight)>];
}

class Mf_WeightGradientByExpertOp<string mnemonic, string kernel>
    : Mf_ComputeOp<mnemonic, kernel,
        (ins Mf_FloatTensor:$input, Mf_FloatTensor:$output_gradient,
             Mf_FloatTensor:$counts), (ins),
        (outs Mf_FloatTensor:$weight_gradient)> {
  let hasVerifier = 1;
}

def Mf_ExpertMatmulOp : Mf_ProductByExpertOp<"expert_matmul",
                                             "mfExpertMatmul"> {
  let summary = "rows of each expert times its weight, one after another";
  let description = [{
    `input` is [groups, ranks, rows, k], `weight` [ranks, experts, k, n], or
    [ranks, experts, n, k] with `transpose_weight`, `counts` [groups, ranks,
    experts] in fp32. The first counts[0] rows of a group and rank belong to its
    first expert, the next counts[1] rows to its second, and so on. The result has
    zeros for rows that belong to no expert.

    ```mlir
    %y = mf.expert_matmul %x, %w, %counts {name = "ffn.hook_ffn_forward"}
        : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>)
        -> tensor<2x1x6x8xf32>
    ```
  }];
}

def Mf_ExpertMatmulWeightGradOp : Mf_WeightGradientByExpertOp<
    "expert_matmul_weight_grad", "mfExpertMatmulWeightGrad"> {
  let summary = "gradient of mf.expert_matmul with respect to its weight";
  let description = [{
    The gradient is [ranks, experts, k, n] and summed over groups. It is zero for an
    expert without rows.
  }];
}

def Mf_GroupedMatmulOp : Mf_ProductByExpertOp<"grouped_matmul",
                                              "aclnnGroupedMatmul"> {
  let summary = "mf.expert_matmul as one kernel";
  let description = [{
    The operands are those of `mf.expert_matmul`, and the kernel multiplies the rows of
    all experts in one launch.

    ```mlir
    %y = mf.grouped_matmul %rows, %w, %counts : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
    ```
  }];
}

def Mf_GroupedMatmulWeightGradOp : Mf_WeightGradientByExpertOp<
    "grouped_matmul_weight_grad", "mfGroupedMatmulWeightGrad"> {
  let summary = "gradient of mf.grouped_matmul with respect to its weight";
  let description = [{
    For each expert, the product of the rows of the input and of the output's gradient
    that belong to the expert.
  }];
}

//===----------------------------------------------------------------------===//
// Ranks over which experts are distributed
//===----------------------------------------------------------------------===//

def Mf_ExchangeTokensOp : Mf_ComputeOp<"exchange_tokens", "",
    (ins Mf_FloatTensor:$input, Mf_FloatTensor:$send,
         Mf_FloatTensor:$receive),
    (ins DefaultValuedAttr<F64Attr, "0.0">:$fill,
         OptionalAttr<StrArrayAttr>:$axes),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, Mf_OwnShardingRuleWith<["localize"]>,
     DeclareOpInterfaceMethods<Mf_BoundedRowsOpInterface>],
    ["getKernelAttributes", "isView", "getEngine", "emitInstructions"]> {
  let summary = "rows of tokens to the ranks of their experts, or back";
  let description = [{
    `input` is [groups, ranks, rows, width]. The rows of a rank are in the order of
    the ranks that they go to, and then of these ranks' experts. `send` [groups,
    ranks, ranks, experts of a rank] has the number of rows for each expert, in fp32.
    A rank receives the rows of the first rank, then those of the second, and so on.
    `receive` has their numbers and is `send` with the two dimensions of ranks
    exchanged. The result is [groups, ranks, room, width], and its rows behind those
    received are `fill`. The step fails if a rank receives more than `room` rows.

    The gradient is the exchange back, with `send` and `receive` swapped.

    With `axes` the operator is a collective over the ranks of the module's mesh that
    differ only in their coordinates on these axes. The dimensions of groups and
    ranks are then 1, except the second dimension of ranks of `send` and `receive`.

    ```mlir
    %y = mf.exchange_tokens %x, %send, %receive {name = "ffn.hook_ffn_forward"}
        : (tensor<1x2x6x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>)
        -> tensor<1x2x9x4xf32>
    ```
  }];
  let extraClassDefinition = "";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$send,
                                 "::mlir::Value":$receive, "int64_t":$room,
                                 CArg<"double", "0.0">:$fill)>];
}

#endif // MF_EXPERT_OPS_TD
