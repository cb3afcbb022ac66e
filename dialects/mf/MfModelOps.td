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
    split), and one `mf.schedule` per stage. Layers, and chunks at each level,
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
    /// Number of `mf.layer`s of kind body that join no other.
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
    for which an expert has room; without it there is room for all.

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
                       UnitAttr:$untrained);
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
          ::mlir::FloatAttr(), false);
  }]>];
  let extraClassDeclaration = [{
    /// Whether backward makes a gradient for it.
    bool needsGradient() { return !getFrozen() && !getUntrained(); }
    /// The type of one rank's part of the parameter while layers use it.
    ::mlir::RankedTensorType getLocalType();
    /// The type of the part that one rank keeps of it, and of its moments.
    ::mlir::RankedTensorType getStoredType();
    /// The type of the result of mf.get_param.
    ::mlir::RankedTensorType getReadType();
    /// The type in which one rank adds gradients up.
    ::mlir::RankedTensorType getAccumulatedType();
    /// The layouts of these; null where each rank has the whole.
    ::mf::ir::LayoutAttr getStoredLayout() {
      return getStored() ? getStoredAttr() : getLayoutAttr();
    }
    ::mf::ir::LayoutAttr getAccumulatedLayout() {
      return scattersGradients() ? getStoredAttr() : getLayoutAttr();
    }
    /// Whether gradients are shared out before they are added.
    bool scattersGradients() {
      return getStored() && (getScatterGradients() || !getGathered());
    }
    /// The reduction of its gradient, whose summands ranks have.
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
         OptionalAttr<FlatSymbolRefAttr>:$cell_tree,
         UnitAttr:$joins_next,
         DefaultValuedAttr<I64Attr, "0">:$past,
         DefaultValuedAttr<I64Attr, "0">:$future),
    [HasParent<"ModelOp">]> {
  let summary = "one layer: a region of tensor operators";
  let description = [{
    An `embedding` layer takes the tokens; a `body` layer the results of the
    layer before it, in order; a `head` layer those and, if it computes the
    loss, the labels. A result that is a scalar in fp32 is a loss: it is added
    to the step's loss and not handed to the next layer. `placement` is the
    layer's stage and chunk, once partitioned.

    The last argument may be a draw, tensor<3xi64>: the seed, the number of the
    step's update and that of the micro-batch, on which random bits depend.

    An `embedding` behind other layers takes their results before its tokens. A
    layer that `joins_next` stands before a body layer, on its stage and with
    its settings: what prepares the input of a layer that predicts a later
    token.

    Of a layer for a piece of the sequence the last `past` floating-point
    arguments come from the layer's versions for earlier pieces, the first
    piece's before the second's: those that each returns as its last `future`
    results.

    ```mlir
    mf.layer @a body (%x: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<f32>, tensor<8xf32>) { ... }
    mf.layer @b body (%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<4xf32> { ... }
    ```

    ```mlir
    mf.layer @next_token embedding (%h: tensor<1x4x8xf32>, %tokens: tensor<1x4xi32>)
        -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) attributes {joins_next} { ... }
    mf.layer @c body (%h: tensor<1x4x8xf32>, %next: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> { ... }
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// The types of the results that the next layer takes: all but losses and
    /// those that go to later pieces.
    ::llvm::SmallVector<::mlir::Type> getHiddenResultTypes();
    /// Whether it counts among the layers that stages are made of: of the body,
    /// and joined to none.
    bool isNumbered() {
      return getKind() == LayerKind::Body && !getJoinsNext();
    }
    /// The numbers of the arguments that come from earlier pieces begin here;
    /// step inputs come behind them.
    unsigned getFirstPast();
    /// Its name without the piece: what operators' places are relative to.
    ::llvm::StringRef getCell();
  }];
}

def Mf_ChunkOp : Mf_FunctionOp<"chunk",
    (ins Mf_PlacementAttr:$placement, TypedArrayAttrBase<Mf_InputKindAttr,
         "kinds of step inputs">:$inputs, I64ArrayAttr:$input_indices,
         FlatSymbolRefArrayAttr:$gradients,
         DefaultValuedAttr<I64Attr, "0">:$past,
         DefaultValuedAttr<I64Attr, "0">:$future),
    [HasParent<"ModelOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the joint forward and backward graph of one chunk";
  let description = [{
    `mf.cut` stands between the halves: its operands are what the chunk returns,
    its results the gradients that come back. What backward uses of forward is
    visible as plain uses, which recompute and swap rewrite. Returns the
    gradients of the hidden inputs, in their order, and then one gradient per
    parameter of `gradients`.

    `inputs` and `input_indices` say which arguments are step inputs (tokens,
    labels); the other arguments, if any, are the hidden inputs. What the chunk
    hands to the next one comes before its losses.

    The last `past` of the hidden inputs come from the chunk's versions for
    earlier pieces of the sequence. What later pieces read are the last operands
    of the cut: where there is a later piece these inputs again, so that the
    gradients that later pieces have added up come in, and then the `future`
    values that this piece adds to them.
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// The `mf.cut` between the halves.
    ::mf::ir::CutOp getCut();
    /// How many operands of the cut are inputs of earlier pieces.
    int64_t getNumPassedOn() { return getFuture() > 0 ? getPast() : 0; }
  }];
}

def Mf_CutOp : Mf_Op<"cut", [HasParent<"ChunkOp">,
    RangedTypesMatchWith<"gradients have the types of the outputs", "outputs",
                         "output_gradients", "$_self">]> {
  let summary = "the end of forward and the start of backward";
  let description = [{
    Takes all outputs of the chunk and gives the gradient of each.

    ```mlir
    %gradients:2 = mf.cut %y, %loss : tensor<4xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Mf_FloatTensor>:$outputs);
  let results = (outs Variadic<Mf_FloatTensor>:$output_gradients);
  let assemblyFormat = "$outputs attr-dict `:` type($outputs)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$outputs), [{
    build($_builder, $_state, outputs.getTypes(), outputs);
  }]>];
}

def Mf_ForwardOp : Mf_FunctionOp<"forward",
    (ins Mf_PlacementAttr:$placement, TypedArrayAttrBase<Mf_InputKindAttr,
         "kinds of step inputs">:$inputs, I64ArrayAttr:$input_indices,
         DefaultValuedAttr<I64Attr, "1">:$outputs,
         DefaultValuedAttr<I64Attr, "0">:$past,
         DefaultValuedAttr<I64Attr, "0">:$future),
    [HasParent<"ModelOp">]> {
  let summary = "forward of one chunk; returns its outputs and its residuals";
  let description = [{
    The first `outputs` results (one, unless said) are the chunk's outputs: what
    the next chunk takes, then the losses, then `future` values for later pieces
    of the sequence. The others are the residuals, kept for backward. The last
    `past` arguments are what earlier pieces gave so.
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    ::llvm::ArrayRef<::mlir::Type> getOutputTypes() {
      return getResultTypes().take_front(getOutputs());
    }
    ::llvm::ArrayRef<::mlir::Type> getResidualTypes() {
      return getResultTypes().drop_front(getOutputs());
    }
    ::llvm::ArrayRef<::mlir::Type> getPastTypes() {
      return getArgumentTypes().take_back(getPast());
    }
    ::llvm::ArrayRef<::mlir::Type> getFutureTypes() {
      return getOutputTypes().take_back(getFuture());
    }
    /// The types of the values whose gradients backward gets: the outputs, and
    /// before the values for later pieces, if there are any, those of earlier
    /// ones.
    ::llvm::SmallVector<::mlir::Type> getGradientTypes();
  }];
}

def Mf_BackwardOp : Mf_FunctionOp<"backward",
    (ins Mf_PlacementAttr:$placement, I64ArrayAttr:$forward_arguments,
         FlatSymbolRefArrayAttr:$gradients,
         DefaultValuedAttr<I64Attr, "1">:$outputs,
         DefaultValuedAttr<I64Attr, "0">:$kept,
         DefaultValuedAttr<I64ArrayAttr, "{}">:$forward_outputs),
    [HasParent<"ModelOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     Mf_GradientFunctionOpInterface]> {
  let summary = "backward of one chunk, or its half that makes input gradients";
  let description = [{
    Takes the gradients of the chunk's outputs (`outputs` of them, one unless
    said; where there are values for later pieces of the sequence, also those
    that later pieces made for values of earlier ones), then the arguments of
    forward listed in `forward_arguments`, then the outputs listed in
    `forward_outputs`, which later pieces read too, then forward's residuals in
    order. Returns the gradients of the hidden inputs,
    then one gradient per parameter of `gradients`, and last the `kept` values
    (none unless said) that a `mf.backward_weights` of the same placement reads.
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// The types that a task passes: output gradients, then arguments and
    /// outputs of forward. The residuals behind them are the frame's.
    ::llvm::ArrayRef<::mlir::Type> getPassedTypes() {
      return getArgumentTypes().take_front(getOutputs() +
                                           getForwardArguments().size() +
                                           getForwardOutputs().size());
    }
    ::llvm::ArrayRef<::mlir::Type> getResidualTypes() {
      return getArgumentTypes().drop_front(getPassedTypes().size());
    }
    /// The types of the gradients of hidden inputs.
    ::llvm::ArrayRef<::mlir::Type> getInputGradientTypes() {
      return getResultTypes().drop_back(getGradients().size() + getKept());
    }
    ::llvm::ArrayRef<::mlir::Type> getKeptTypes() {
      return getResultTypes().take_back(getKept());
    }
    /// Whether it takes what the forward function of its placement gives.
    ::llvm::LogicalResult verifyAgainst(::mf::ir::ForwardOp forward);
  }];
}

def Mf_BackwardWeightsOp : Mf_FunctionOp<"backward_weights",
    (ins Mf_PlacementAttr:$placement, I64ArrayAttr:$output_gradients,
         I64ArrayAttr:$forward_arguments,
         FlatSymbolRefArrayAttr:$gradients),
    [HasParent<"ModelOp">,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     Mf_GradientFunctionOpInterface]> {
  let summary = "the half of a split backward that only makes gradients of "
                "parameters";
  let description = [{
    Runs after the `mf.backward` of its placement. Takes the gradients of the
    outputs listed in `output_gradients`, then the arguments of forward listed
    in `forward_arguments`, then all residuals of forward and all values that
    backward kept. Returns one gradient per parameter of `gradients`, none of
    which backward makes. It may have nothing to do.

    ```mlir
    mf.backward_weights @split.weights (%dloss: tensor<f32>, %x: tensor<4xf32>,
        %r: tensor<4xf32>, %kept: tensor<4xf32>) -> tensor<4xf32>
        attributes {forward_arguments = [0], gradients = [@w],
        output_gradients = [1], placement = #mf.placement<stage = 0, chunk = 0>} { ... }
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// The types that a task passes: output gradients, then arguments of
    /// forward. The residuals and kept values behind them are the frame's.
    ::llvm::ArrayRef<::mlir::Type> getPassedTypes() {
      return getArgumentTypes().take_front(getOutputGradients().size() +
                                           getForwardArguments().size());
    }
    /// Residuals of forward, then what backward kept.
    ::llvm::ArrayRef<::mlir::Type> getFrameTypes() {
      return getArgumentTypes().drop_front(getPassedTypes().size());
    }
    /// Whether it takes what the other functions of its placement give.
    ::llvm::LogicalResult verifyAgainst(::mf::ir::ForwardOp forward,
                                        ::mf::ir::BackwardOp backward);
  }];
}

#endif // MF_MODEL_OPS_TD
