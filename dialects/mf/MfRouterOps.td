//===- MfRouterOps.td - Operators that choose experts ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The operators of a router of experts: the largest elements of a row,
// comparisons with them, and places. Integers and comparisons have no gradient.
//
//===----------------------------------------------------------------------===//

#ifndef MF_ROUTER_OPS_TD
#define MF_ROUTER_OPS_TD

include "dialects/mf/MfOpBase.td"

def Mf_TopKOp : Mf_ComputeOp<"top_k", "aclnnTopk",
    (ins Mf_FloatTensor:$input), (ins I64Attr:$k),
    (outs Mf_FloatTensor:$values, Mf_IndexTensor:$indices),
    [Mf_Differentiable]> {
  let trainer = [{ tape.keepFor(getIndices(), getInput()); }];
  let summary = "the k largest elements of each row and their indices";
  let description = [{
    Rows are along the last dimension. The results are in descending order, and of
    equal elements the one with the lower index comes first.

    ```mlir
    %values, %indices = mf.top_k %scores {k = 2 : i64, name = "topk"}
        : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$k)>];
}

def Mf_GatherElementsOp : Mf_ComputeOp<"gather_elements", "aclnnGather",
    (ins Mf_FloatTensor:$input, Mf_IndexTensor:$indices), (ins),
    (outs Mf_FloatTensor:$result), [Mf_Differentiable]> {
  let trainer = [{ tape.keep(getIndices()); }];
  let summary = "elements of each row by index";
  let description = [{Rows are along the last dimension; other dimensions agree.}];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::mlir::Value":$indices)>];
}

def Mf_ScatterElementsOp : Mf_ComputeOp<"scatter_elements", "mfScatterElements",
    (ins Mf_FloatTensor:$source, Mf_IndexTensor:$indices), (ins),
    (outs Mf_FloatTensor:$result)> {
  let summary = "gradient of mf.gather_elements and mf.top_k";
  let description = [{
    The result is zero, to which each element of `source` is added at its index in
    the row, in order.
  }];
}

def Mf_OneHotOp : Mf_ComputeOp<"one_hot", "aclnnOneHot",
    (ins Mf_IndexTensor:$indices), (ins), (outs Mf_FloatTensor:$result)> {
  let summary = "a 1 at each index of a new last dimension, else 0";
  let description = [{
    The size of the last dimension is the number of values that an index may have.

    ```mlir
    %mask = mf.one_hot %indices : (tensor<3x2xi32>) -> tensor<3x2x8xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$indices, "int64_t":$depth)>];
}

def Mf_CumsumOp : Mf_ComputeOp<"cumsum", "aclnnCumsum",
    (ins Mf_FloatTensor:$input), (ins I64Attr:$axis),
    (outs Mf_FloatTensor:$result), [SameOperandsAndResultType]> {
  let summary = "sums of all elements up to each one, along a dimension";
  let description = [{
    Element i of the result is the sum of elements 0 to i of the input along `axis`.

    ```mlir
    %positions = mf.cumsum %mask {axis = 1 : i64} : (tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
    ```
  }];
  let hasVerifier = 1;
}

def Mf_SortOp : Mf_ComputeOp<"sort", "aclnnSort",
    (ins Mf_FloatTensor:$keys), (ins),
    (outs Mf_FloatTensor:$values, Mf_IndexTensor:$indices)> {
  let summary = "each row in ascending order, and the former indices of its elements";
  let description = [{
    Rows are along the last dimension. Equal elements keep their order.
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$keys)>];
}

def Mf_TopKRouterOp : Mf_ComputeOp<"top_k_router", "mfTopKRouter",
    (ins Mf_IndexTensor:$experts), (ins BoolAttr:$k_major),
    (outs Mf_IndexTensor:$dispatch, Mf_IndexTensor:$combine)> {
  let summary = "places of tokens in experts of limited capacity";
  let description = [{
    `experts` [rows, tokens, k] are the choices of each token. `dispatch` [rows,
    experts, capacity] has, for each place of an expert, 1 + the index of the token
    that gets it, or 0 if the place is empty. `combine` [rows, tokens, k] has the
    place of each choice, counted over all experts with capacity + 1 places each;
    the first place of an expert stands for a dropped choice. With `k_major` places
    are given to the first choices of all tokens, then to the second choices, and so
    on; otherwise token by token.
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Statistics of a step
//===----------------------------------------------------------------------===//

// An operator that returns its input. Its backward provides a value to a
// parameter with an update rule in the place of a gradient.
class Mf_StatisticOp<string mnemonic, dag operands, dag attributes = (ins)>
    : Mf_ComputeOp<mnemonic, "", !con((ins Mf_FloatTensor:$input), operands),
                   attributes, (outs Mf_FloatTensor:$result),
                   [Mf_Differentiable, Mf_OwnShardingRule,
                    AllTypesMatch<["input", "result"]>]> {
  let hasVerifier = 1;
}

def Mf_TrackLoadOp : Mf_StatisticOp<"track_load",
    (ins Mf_FloatTensor:$bias, Mf_IndexTensor:$experts),
    (ins I64Attr:$choices)> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "counts in backward how often each expert is chosen; a view";
  let description = [{
    The result is `input`. In the place of a gradient of `bias`, [experts], a
    parameter with an update rule, backward computes the share of each expert: how
    often `experts` has it, divided by the total number `choices`.

    ```mlir
    %g = mf.track_load %gate, %bias, %experts {choices = 6 : i64}
        : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
    ```
  }];
}

def Mf_RecordOp : Mf_StatisticOp<"record",
    (ins Mf_FloatTensor:$statistic, Mf_FloatTensor:$value)> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "hands a value to a statistic of the step; a view";
  let description = [{
    The result is `input`. In the place of a gradient of `statistic`, a parameter
    with an update rule, backward returns `value`. The first dimensions of all three
    are the rows of the router, and cut alike.

    ```mlir
    %g = mf.record %gate, %statistic, %share
        : (tensor<2x3x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x3x4xf32>
    ```
  }];
}

def Mf_TrackLargestOp : Mf_StatisticOp<"track_largest",
    (ins Mf_FloatTensor:$statistic, Mf_FloatTensor:$values)> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "keeps the largest value of each head for the step's end; a view";
  let description = [{
    The result is `input`, [batch, heads, sequence, width]. In the place of a
    gradient of `statistic`, [heads], a parameter with an update rule, backward
    computes the largest of `values`, [batch, heads, sequence], of each head.

    ```mlir
    %y = mf.track_largest %x, %statistic, %max
        : (tensor<1x2x4x8xf32>, tensor<2xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4x8xf32>
    ```
  }];
}

#endif // MF_ROUTER_OPS_TD
