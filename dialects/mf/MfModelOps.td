//===- MfModelOps.td - The model and its chunks ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

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
    The body has `mf.param`s and, as passes go on, `mf.layer`s, `mf.chunk`s, pairs of
    `mf.forward` and `mf.backward`, and one `mf.schedule` per stage. It also has
    `mf.backward_weights` where backward is split, and `mf.recompute` where
    recomputation is a task. Layers, and chunks at each level, run in textual order:
    each takes the results of the one before.

    A micro-batch is [`micro_batch_size`, `sequence_length`] tokens below
    `vocab_size`. Labels equal to `pad_token_id` do not count. `training` has the
    settings of the YAML once it is read. With `compressed_mask` the trainer's
    attention reads a mask of fixed size and not one of the whole sequence, which
    only changes the memory of the trainer. `trainer_memory` has what the trainer
    holds on each stage, for the stage's `ascend.program`. `lora` says which linear layers get
    adapters, or have them already.

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
                       UnitAttr:$compressed_mask,
                       OptionalAttr<ArrayAttr>:$trainer_memory,
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
    `frozen` parameters (rotary tables, masks) are constants: they have no gradient
    and no checkpoint contains them. `untrained` weights have no gradient either, but
    checkpoints contain them, and ranks divide their storage as they do that of
    trained weights. A parameter `tied` to another has the same value and adds to its
    gradient, but another layer reads it, possibly on another stage. All parameters
    are floating-point except frozen tables of coordinates.

    `cuts` lists for each dimension the axes by which the strategies of MindSpore
    Transformers cut it, for any sizes of the mesh, as in `[["cp", "mp"], []]`.
    Without it the parameter is not cut. The name `ep`, of ranks that divide experts
    among themselves, stands for axes that `mf-read-config` inserts in its place. A
    dimension that the axes do not divide is an error, or a warning with
    `may_stay_whole`. `parallel_optimizer` is false for a parameter whose storage
    ranks never divide. A parameter with an `update_rule` is a statistic: backward
    computes another value in the place of its gradient, which is not part of the
    gradients' norm. In a statistic that records the share of each expert,
    `capacity_share` is the largest share of a row's choices that an expert can
    take; without it an expert can take all. `matrices` lists the matrices that a
    weight holds, for optimizers that update matrices, and `logit_clip` says which of
    them are scaled down when logits of attention are large.

    `type` is the type of the whole parameter. With a `layout` each rank has the part
    of the parameter, its gradient and its moments at its coordinates on the axes
    that cut them. With `stored` the ranks that have the same part divide its storage
    and that of its moments among themselves along dimension `storage_dim`. `gathered` is
    then the type in which layers read the part of `layout`, which is gathered once
    at the start of the step. Without it layers read the stored piece and gather it
    themselves. With `scatter_gradients` the gradient of each micro-batch is divided
    among the ranks before it is accumulated; without, the sum is, at the end of the
    step. With `reduced_in_backward` layers read the parameter through an `mf.mirror`
    or `mf.all_gather`, so that backward computes the sum over ranks and no reduction
    is left for the end of the step.

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
                       DefaultValuedAttr<I64Attr, "0">:$storage_dim,
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
          false, true, LayoutAttr(), 0, nullptr, false, false, UpdateRuleAttr(),
          ::mlir::FloatAttr(), false, MatricesAttr(), LogitClipAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Returns whether backward computes a gradient for it.
    bool needsGradient() { return !getFrozen() && !getUntrained(); }
    /// Returns whether the step keeps the maximum over micro-batches, not the sum.
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
    /// Returns the axes that cut the stored shard further than `layout` does.
    ::mlir::ArrayRef<::mlir::Attribute> getStorageAxes();
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
  let description = [{
    In a layer the result has the global shape of the parameter, and after `mf-localize`
    the shape of the part that a rank uses.

    ```mlir
    %table = mf.get_param @embedding : tensor<16x4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs Mf_AnyTensor:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def Mf_CellTreeOp : Mf_Op<"cell_tree", [Symbol]> {
  let summary = "names that a layer's Cells register beside its operators";
  let description = [{
    MindSpore Transformers' Cells register primitives that a given graph does
    not use (`attention.reshape`, `feed_forward.cast`, the score path next to
    flash attention). Users' patterns match these names as well.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$names);
  let assemblyFormat = "$sym_name $names attr-dict";
}

def Mf_ReturnOp : Mf_Op<"return", [Pure, Terminator]> {
  let summary = "the results of the function around it";
  let description = [{
    The terminator of layers, chunks and functions. The values have the types of the
    results.
  }];
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
