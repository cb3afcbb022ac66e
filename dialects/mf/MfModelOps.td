//===- MfModelOps.td - The model and its chunks ----------------*- tablegen -*-===//

#ifndef MF_MODEL_OPS_TD
#define MF_MODEL_OPS_TD

include "dialects/mf/MfInterfaces.td"
include "dialects/mf/MfOpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

def Mf_ModelOp : Mf_Op<"model", [Symbol, SymbolTable, NoTerminator,
    IsolatedFromAbove, SingleBlock, NoRegionArguments]> {
  let summary = "one model, at any level from layers to schedules";
  let description = [{
    Holds `mf.param`s and, as passes go on, `mf.layer`s, `mf.chunk`s, pairs of
    `mf.forward` and `mf.backward` (and `mf.backward_weights`, where backward is
    split, and `mf.recompute`, where that is a task), and one `mf.schedule` per stage. Layers, and chunks at each level,
    run in the order they stand in: each takes the results of the one before.

    `sequence_length` and `micro_batch_size` shape one micro-batch;
    `vocab_size` bounds its tokens; labels of tokens equal to `pad_token_id`
    do not count. `training` is what the YAML said, once it is read. `lora` says
    which linear layers get adapters, or have them already.

    ```mlir
    mf.model @two_layers attributes {micro_batch_size = 1 : i64, ...} {
      mf.param @embedding.weight : tensor<16x8xf32> init <normal, value = 2.000000e-02>
      ...
      mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> { ... }
      ...
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       I64Attr:$micro_batch_size, I64Attr:$sequence_length,
                       I64Attr:$vocab_size,
                       DefaultValuedAttr<I64Attr, "-1">:$pad_token_id,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<StrAttr>:$family,
                       OptionalAttr<Mf_TrainingAttr>:$training,
                       OptionalAttr<Mf_LoraAttr>:$lora);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the number of `mf.layer`s of kind body that join no other.
    int64_t getNumBodyLayers();
  }];
}

def Mf_ParamOp : Mf_Op<"param", [Symbol]> {
  let summary = "a parameter, or a table that is not trained";
  let description = [{
    `frozen` parameters (rotary tables, masks) get no gradient: they are
    constants, which no checkpoint has. `untrained` weights get none either, but
    are weights in everything else: a checkpoint gives their values, and ranks
    share them out as they do those that are trained. A parameter
    `tied` to another has its value and adds to its gradient, but is read by
    another layer, maybe on another stage. All hold floats but a frozen table of
    coordinates.

    `cuts` says per dimension by which axes the strategies of MindSpore
    Transformers cut it, whatever the sizes of the mesh, as in
    `[["cp", "mp"], []]`; without it, none. The name `ep`, of ranks that share
    experts out, stands for axes that `mf-read-config` knows: it writes them
    instead. What does not divide is an error, or
    with `may_stay_whole` a warning. `parallel_optimizer` is false for one that
    the optimizer's ranks never share out. One with an `update_rule` is no
    weight but a statistic: what backward makes for it is no gradient of the
    loss, and takes no part in the gradients' norm. One that records the share
    of each expert has as `capacity_share` the largest share of a row's choices
    for which an expert has room; without it there is room for all. `matrices`
    says that a weight holds several matrices, for optimizers that work on them,
    and `logit_clip` which of them shrink with the logits of attention.

    `type` is the whole parameter's. With a `layout` each rank has a part of it,
    and so of its gradient and moments: of each dimension that at its
    coordinates on the axes that cut it. With `stored` ranks that have the same
    part share its storage out among them, along the first dimension: each keeps
    that piece of the parameter and its moments. `gathered` is then the type in
    which layers read the part as of `layout`, put together once at the step's
    begin; without it they read what is stored, and gather themselves.
    `scatter_gradients`: the gradient of each micro-batch is shared out as the
    parameter is before it is added; without, the sum is, at the step's end.
    `reduced_in_backward`: readers stand behind an `mf.mirror` or
    `mf.all_gather` of it, so that backward makes the sum over ranks, and
    nothing is left to do at the step's end.

    ```mlir
    mf.param @wq : tensor<16x8xf32> init <normal, value = 2.000000e-02> layout <[[mp], []]>
    mf.param @first_row : tensor<2xi32> init <coordinate, value = 8.000000e+00> layout <[[mp]]> {frozen}
    ...
    %w = mf.get_param @wq : tensor<8x8xf32>
    ```

    ```mlir
    mf.param @w : tensor<16x8xf32> init <zeros> layout <[[mp], []], reduced = [dp]>
        stored <[[mp, dp], []]> {gathered = tensor<8x8xbf16>}
    ...
    %v = mf.get_param @w : tensor<8x8xbf16>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       Mf_InitAttr:$init, UnitAttr:$frozen,
                       OptionalAttr<FlatSymbolRefAttr>:$tied,
                       OptionalAttr<Mf_LayoutAttr>:$layout,
                       OptionalAttr<ArrayAttr>:$cuts,
                       UnitAttr:$may_stay_whole,
                       DefaultValuedAttr<BoolAttr, "true">:$parallel_optimizer,
                       OptionalAttr<Mf_LayoutAttr>:$stored,
                       OptionalAttr<TypeAttr>:$gathered,
                       UnitAttr:$scatter_gradients,
                       UnitAttr:$reduced_in_backward,
                       OptionalAttr<Mf_UpdateRuleAttr>:$update_rule,
                       OptionalAttr<F64Attr>:$capacity_share,
                       UnitAttr:$untrained,
                       OptionalAttr<Mf_MatricesAttr>:$matrices,
                       OptionalAttr<Mf_LogitClipAttr>:$logit_clip);
  let assemblyFormat = [{
    $sym_name `:` $type `init` $init (`tied` `to` $tied^)?
    (`layout` $layout^)? (`stored` $stored^)? attr-dict
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Type":$type,
                                 "InitAttr":$init, "bool":$frozen,
                                 "::mlir::FlatSymbolRefAttr":$tied), [{
    build($_builder, $_state, name, type, init, frozen, tied, LayoutAttr(), nullptr,
          false, true, LayoutAttr(), nullptr, false, false, UpdateRuleAttr(),
          ::mlir::FloatAttr(), false, MatricesAttr(), LogitClipAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Returns whether backward computes a gradient for it.
    bool needsGradient() { return !getFrozen() && !getUntrained(); }
    /// Returns whether the maximum of what backward computes is kept, not the sum.
    bool keepsLargest() { return getUpdateRule() == UpdateRule::Largest; }
    /// Returns the type of one rank's shard of the parameter while layers use
    /// it.
    ::mlir::RankedTensorType getLocalType();
    /// Returns the type of the shard of it, and of its moments, that one rank
    /// stores.
    ::mlir::RankedTensorType getStoredType();
    /// Returns the type of the result of mf.get_param.
    ::mlir::RankedTensorType getReadType();
    /// Returns the type in which one rank accumulates gradients.
    ::mlir::RankedTensorType getAccumulatedType();
    /// Returns the layout of the stored shard; null if each rank stores the
    /// whole.
    ::mf::ir::LayoutAttr getStoredLayout() {
      return getStored() ? getStoredAttr() : getLayoutAttr();
    }
    ::mf::ir::LayoutAttr getAccumulatedLayout() {
      return scattersGradients() ? getStoredAttr() : getLayoutAttr();
    }
    /// Returns whether gradients are reduce-scattered before they are
    /// accumulated.
    bool scattersGradients() {
      return getStored() && (getScatterGradients() || !getGathered());
    }
    /// Returns the reduction of its gradient, of which ranks hold summands.
    ::mf::ir::GradientReduction getReduction();
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
  }];
}

def Mf_GetParamOp : Mf_Op<"get_param", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter";
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs Mf_AnyTensor:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def Mf_CellTreeOp : Mf_Op<"cell_tree", [Symbol]> {
  let summary = "names that a layer's Cells register beside its operators";
  let description = [{
    MindSpore Transformers' Cells register primitives that a given graph does
    not use (`attention.reshape`, `feed_forward.cast`, the score path next to
    flash attention). Users' patterns see them all the same.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$names);
  let assemblyFormat = "$sym_name $names attr-dict";
}

def Mf_ReturnOp : Mf_Op<"return", [Pure, Terminator]> {
  let summary = "the results of the function around it";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

//===----------------------------------------------------------------------===//
// Functions of a model
//===----------------------------------------------------------------------===//

include "dialects/mf/MfFunctionOps.td"

#endif // MF_MODEL_OPS_TD
