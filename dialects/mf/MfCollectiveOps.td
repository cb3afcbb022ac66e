//===- MfCollectiveOps.td - Collective operators -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_COLLECTIVE_OPS_TD
#define MF_COLLECTIVE_OPS_TD

include "dialects/mf/MfOpBase.td"

// An exchange among the ranks of a group, which differ only in the coordinates
// on `axes` of the module's mesh. Between the sharding passes, types are those
// of whole tensors with an #mf.layout, so shapes do not change. After them
// types are local, and a cut dimension is divided by the number of ranks in the
// group.
class Mf_GroupOp<string mnemonic, dag attributes, string format,
                 list<Trait> traits = [], TypeConstraint type = Mf_FloatTensor>
    : Mf_ComputeOp<mnemonic, "", (ins type:$input),
                   !con((ins StrArrayAttr:$axes), attributes),
                   (outs type:$result),
                   !listconcat([Mf_Differentiable, Mf_ChangesLayout], traits),
                   ["isView", "getEngine", "emitInstructions"]> {
  let assemblyFormat = "$input `over` $axes " # format #
                       " attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

// A group operator along one dimension.
class Mf_AlongOp<string mnemonic, string format = "", list<Trait> traits = [],
                 TypeConstraint type = Mf_FloatTensor>
    : Mf_GroupOp<mnemonic, (ins DefaultValuedAttr<I64Attr, "0">:$dim),
                 "(`dim` $dim^)?" # format, traits, type> {
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
                                 "::mlir::ArrayAttr":$axes, "int64_t":$dim), [{
    $_state.addTypes(result);
    $_state.addOperands(input);
    $_state.addAttribute(getAxesAttrName($_state.name), axes);
    $_state.addAttribute(getDimAttrName($_state.name),
                         $_builder.getI64IntegerAttr(dim));
  }]>];
}

// A group operator without a dimension.
class Mf_WholeOp<string mnemonic, list<Trait> traits = [], dag attributes = (ins)>
    : Mf_GroupOp<mnemonic, attributes, "", !listconcat([
        SameOperandsAndResultElementType, SameOperandsAndResultShape], traits)> {
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
                                 "::mlir::ArrayAttr":$axes), [{
    $_state.addTypes(result);
    $_state.addOperands(input);
    $_state.addAttribute(getAxesAttrName($_state.name), axes);
  }]>];
}

def Mf_AllReduceOp : Mf_WholeOp<"all_reduce", [Mf_SumsParts]> {
  let trainer = [{ ::mf::ir::recordOnTape(*this, tape); }];
  let summary = "the sum over a group of ranks, on each of them";
  let description = [{
    The sum is computed in the order of ranks, in fp32, and rounded once. The
    layout changes from partial to replicated. The gradient of a replicated value is
    the same on all ranks, and it is also the gradient of each summand.

    ```mlir
    %y = mf.all_reduce %x over ["mp"] {name = "attention.wo.matmul"}
        : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
}

def Mf_MirrorOp : Mf_WholeOp<"mirror", [], (ins UnitAttr:$wide_gradient)> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "the same value, whose gradient is a sum over ranks; a view";
  let description = [{
    The layout changes from replicated to reduced. Each rank of the group computes a
    summand of the result's gradient, and the gradient of the input is their
    all-reduce. The operator is Megatron's f and MindSpore's mirror operator. With
    `wide_gradient` the sum and the gradient are in fp32.

    ```mlir
    %y = mf.mirror %x over ["mp"] {name = "attention.wq.matmul"}
        : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
}

def Mf_AllGatherOp : Mf_GroupOp<"all_gather",
    (ins DefaultValuedAttr<I64Attr, "0">:$dim, UnitAttr:$replicated,
         UnitAttr:$wide_gradient),
    "(`dim` $dim^)? (`replicated` $replicated^)?"> {
  let trainer = [{ ::mf::ir::recordOnTape(*this, tape); }];
  let summary = "the inputs of a group of ranks side by side, on each of them";
  let description = [{
    The inputs are concatenated along dimension `dim` in the order of ranks. The
    layout changes from sharded to reduced: each rank computes a summand of the
    result's gradient, and the gradient of the input is a reduce-scatter. With
    `replicated` the layout changes from sharded to replicated: all ranks have the
    same gradient of the result, and each takes its own part. With `wide_gradient`
    the gradient is summed in fp32 and keeps this type.

    ```mlir
    %y = mf.all_gather %x over ["mp"] {name = "feed_forward.w1.matmul"}
        : tensor<4x8xf32> -> tensor<8x8xf32>
    ```
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
                                 "::mlir::ArrayAttr":$axes, "int64_t":$dim,
                                 "bool":$replicated), [{
    $_state.addTypes(result);
    $_state.addOperands(input);
    $_state.addAttribute(getAxesAttrName($_state.name), axes);
    $_state.addAttribute(getDimAttrName($_state.name),
                         $_builder.getI64IntegerAttr(dim));
    if (replicated)
      $_state.addAttribute(getReplicatedAttrName($_state.name),
                           $_builder.getUnitAttr());
  }]>];
}

def Mf_ReduceScatterOp : Mf_AlongOp<"reduce_scatter", "", [Mf_SumsParts]> {
  let trainer = [{ tape.keep(getResult()); }];
  let summary = "a part of the sum over a group of ranks on each of them";
  let description = [{
    Dimension `dim` is cut in the order of ranks. The layout changes from partial to
    sharded. The gradient is an all-gather.

    ```mlir
    %y = mf.reduce_scatter %x over ["mp"] {name = "feed_forward.w2.matmul"}
        : tensor<8x8xf32> -> tensor<4x8xf32>
    ```
  }];
}

def Mf_OwnPartOp : Mf_AlongOp<"own_part", "", [], Mf_AnyTensor> {
  let trainer = [{ tape.takePart(getResult(), getInput()); }];
  let summary = "a part, on each rank, of a value that all ranks of a group have";
  let description = [{
    Dimension `dim` is cut in the order of ranks. Ranks exchange nothing, so the
    elements may be integers. The layout changes from replicated to sharded. The
    gradient is an all-gather to replicated.

    ```mlir
    %y = mf.own_part %x over ["mp"] {name = "tok_embeddings.reshape"}
        : tensor<4x8xf32> -> tensor<2x8xf32>
    ```
  }];
}

def Mf_AllToAllOp : Mf_GroupOp<"all_to_all",
    (ins I64Attr:$split, I64Attr:$concat), "`split` $split `concat` $concat"> {
  let summary = "a cut moved from one dimension to another";
  let description = [{
    Each rank cuts its input along `split` in the order of ranks, sends the i-th
    part to rank i and concatenates the parts that it receives along `concat`. The
    layout stays sharded. The gradient is an all-to-all with the two dimensions
    exchanged.

    ```mlir
    %y = mf.all_to_all %x over ["mp"] split 1 concat 0
        {name = "attention.flash_attention"}
        : tensor<4x8xf32> -> tensor<8x4xf32>
    ```
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
                                 "::mlir::ArrayAttr":$axes, "int64_t":$split,
                                 "int64_t":$concat), [{
    $_state.addTypes(result);
    $_state.addOperands(input);
    $_state.addAttribute(getAxesAttrName($_state.name), axes);
    $_state.addAttribute(getSplitAttrName($_state.name),
                         $_builder.getI64IntegerAttr(split));
    $_state.addAttribute(getConcatAttrName($_state.name),
                         $_builder.getI64IntegerAttr(concat));
  }]>];
}

def Mf_KeepPartOp : Mf_ComputeOp<"keep_part", "",
    (ins Mf_FloatTensor:$input), (ins StrArrayAttr:$axes),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, Mf_OwnShardingRule, SameOperandsAndResultType,
     DeclareOpInterfaceMethods<Mf_SavedFormOpInterface>]> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "the same value, of which each rank keeps a part; a view";
  let description = [{
    The ranks of the group have the same value. Where the operator has a recompute
    mark and backward needs the value, each rank keeps its part along dimension 0,
    and backward begins with an all-gather. `recompute_slice_activation` asks for
    this on the input of a recomputed layer.

    ```mlir
    %y = mf.keep_part %x over ["mp"]
        {name = "input", recompute = #mf.recompute<full>} : tensor<8x4xf32>
    ```
  }];
  let assemblyFormat = "$input `over` $axes attr-dict `:` type($input)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::mlir::ArrayAttr":$axes), [{
    $_state.addTypes(input.getType());
    $_state.addOperands(input);
    $_state.addAttribute(getAxesAttrName($_state.name), axes);
  }]>];
  let hasVerifier = 1;
}

def Mf_ReshardOp : Mf_Op<"reshard", [Pure, Mf_ChangesLayout,
    SameOperandsAndResultShape, SameOperandsAndResultElementType]> {
  let summary = "the same tensor in another layout";
  let description = [{
    mf-propagate-layouts inserts the operator and mf-lower-reshards replaces it by
    one collective, one mf.own_part or a view. Ranks do not exchange integers, so
    integers can only change from replicated to sharded.

    ```mlir
    %y = mf.reshard %x {name = "attention.wo.matmul"}
        : tensor<1x4x8xf32, #mf.layout<[[], [], []], partial = [mp]>>
        -> tensor<1x4x8xf32, #mf.layout<[[], [mp], []]>>
    ```
  }];
  let arguments = (ins Mf_AnyTensor:$input, OptionalAttr<StrAttr>:$name);
  let results = (outs Mf_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif // MF_COLLECTIVE_OPS_TD
