//===- MfModelOps.td - The model and its chunks ----------------*- tablegen -*-===//

#ifndef MF_MODEL_OPS_TD
#define MF_MODEL_OPS_TD

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
    `mf.forward` and `mf.backward`, and one `mf.schedule` per stage. Layers run
    in the order they stand in: each takes the result of the one before.

    `sequence_length` and `micro_batch_size` shape one micro-batch;
    `vocab_size` bounds its tokens; labels of tokens equal to `pad_token_id`
    do not count. `training` is what the YAML said, once it is read.

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
                       OptionalAttr<Mf_TrainingAttr>:$training);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of `mf.layer`s of kind body.
    int64_t getNumBodyLayers();
  }];
}

def Mf_ParamOp : Mf_Op<"param", [Symbol]> {
  let summary = "a parameter, or a table that is not trained";
  let description = [{
    `frozen` parameters (rotary tables, masks) get no gradient. A parameter
    `tied` to another has its value and adds to its gradient, but is read by
    another layer, maybe on another stage. All hold floats but a frozen table of
    coordinates.

    `cuts` says per dimension by which axes the strategies of MindSpore
    Transformers cut it, whatever the sizes of the mesh, as in
    `[["cp", "mp"], []]`; without it, none. What does not divide is an error, or
    with `may_stay_whole` a warning. `parallel_optimizer` is false for one that
    the optimizer's ranks never share out.

    `type` is the whole parameter's. With a `layout` each rank has a part of it,
    and so of its gradient and moments: of each dimension that at its
    coordinates on the axes that cut it.

    ```mlir
    mf.param @wq : tensor<16x8xf32> init <normal, value = 2.000000e-02> layout <[[mp], []]>
    mf.param @first_row : tensor<2xi32> init <coordinate, value = 8.000000e+00> layout <[[mp]]> {frozen}
    ...
    %w = mf.get_param @wq : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       Mf_InitAttr:$init, UnitAttr:$frozen,
                       OptionalAttr<FlatSymbolRefAttr>:$tied,
                       OptionalAttr<Mf_LayoutAttr>:$layout,
                       OptionalAttr<ArrayAttr>:$cuts,
                       UnitAttr:$may_stay_whole,
                       DefaultValuedAttr<BoolAttr, "true">:$parallel_optimizer);
  let assemblyFormat = [{
    $sym_name `:` $type `init` $init (`tied` `to` $tied^)?
    (`layout` $layout^)? attr-dict
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::Type":$type,
                                 "InitAttr":$init, "bool":$frozen,
                                 "::mlir::FlatSymbolRefAttr":$tied), [{
    build($_builder, $_state, name, type, init, frozen, tied, LayoutAttr(), nullptr,
          false, true);
  }]>];
  let extraClassDeclaration = [{
    /// What one rank has of the parameter.
    ::mlir::RankedTensorType getLocalType();
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

class Mf_FunctionOp<string mnemonic, dag attributes, list<Trait> traits = []>
    : Mf_Op<mnemonic, !listconcat([FunctionOpInterface, IsolatedFromAbove,
        SingleBlockImplicitTerminator<"ReturnOp">], traits)> {
  let arguments = !con((ins SymbolNameAttr:$sym_name,
                            TypeAttrOf<FunctionType>:$function_type), attributes,
                       (ins OptionalAttr<DictArrayAttr>:$arg_attrs,
                            OptionalAttr<DictArrayAttr>:$res_attrs));
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  code functionDeclarations = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
  }];
  let extraClassDeclaration = functionDeclarations;
  code functionDefinitions = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      return ::mf::ir::parseModelFunction(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      ::mf::ir::printModelFunction(printer, *this);
    }
    ::mlir::LogicalResult $cppClass::verifyRegions() {
      return ::mf::ir::verifyModelFunction(*this);
    }
  }];
  let extraClassDefinition = functionDefinitions;
}

def Mf_LayerOp : Mf_FunctionOp<"layer",
    (ins Mf_LayerKindAttr:$kind,
         OptionalAttr<Mf_PlacementAttr>:$placement,
         OptionalAttr<FlatSymbolRefAttr>:$cell_tree),
    [HasParent<"ModelOp">]> {
  let summary = "one layer: a region of tensor operators";
  let description = [{
    An `embedding` layer takes the tokens; a `body` layer the result of the
    layer before it; a `head` layer that and, if it computes the loss, the
    labels. `placement` is its stage and chunk, once partitioned.
  }];
  let hasVerifier = 1;
}

def Mf_ChunkOp : Mf_FunctionOp<"chunk",
    (ins Mf_PlacementAttr:$placement, TypedArrayAttrBase<Mf_InputKindAttr,
         "kinds of step inputs">:$inputs, I64ArrayAttr:$input_indices,
         FlatSymbolRefArrayAttr:$gradients),
    [HasParent<"ModelOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the joint forward and backward graph of one chunk";
  let description = [{
    `mf.cut` stands between the halves: its operand is what the chunk returns,
    its result the gradient that comes back. What backward uses of forward is
    visible as plain uses, which recompute and swap rewrite. Returns the
    gradient of the hidden input, if there is one, and then one gradient per
    parameter of `gradients`.

    `inputs` and `input_indices` say which arguments are step inputs (tokens,
    labels); the other argument, if any, is the hidden input.
  }];
  let hasVerifier = 1;
}

def Mf_CutOp : Mf_Op<"cut", [HasParent<"ChunkOp">,
    AllTypesMatch<["output", "output_gradient"]>]> {
  let summary = "the end of forward and the start of backward";
  let arguments = (ins Mf_FloatTensor:$output);
  let results = (outs Mf_FloatTensor:$output_gradient);
  let assemblyFormat = "$output attr-dict `:` type($output)";
  let builders = [OpBuilder<(ins "::mlir::Value":$output), [{
    build($_builder, $_state, output.getType(), output);
  }]>];
}

def Mf_ForwardOp : Mf_FunctionOp<"forward",
    (ins Mf_PlacementAttr:$placement, TypedArrayAttrBase<Mf_InputKindAttr,
         "kinds of step inputs">:$inputs, I64ArrayAttr:$input_indices),
    [HasParent<"ModelOp">]> {
  let summary = "forward of one chunk; returns its output and its residuals";
  let hasVerifier = 1;
}

def Mf_BackwardOp : Mf_FunctionOp<"backward",
    (ins Mf_PlacementAttr:$placement, I64ArrayAttr:$forward_arguments,
         FlatSymbolRefArrayAttr:$gradients),
    [HasParent<"ModelOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "backward of one chunk";
  let description = [{
    Takes the gradient of the chunk's output, then the arguments of forward
    listed in `forward_arguments`, then forward's residuals in order. Returns
    the gradient of the hidden input, if there is one, and then one gradient
    per parameter of `gradients`.
  }];
  let hasVerifier = 1;
}

#endif // MF_MODEL_OPS_TD
