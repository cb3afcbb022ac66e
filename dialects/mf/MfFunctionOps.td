//===- MfFunctionOps.td - Layers and chunks ----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of MfModelOps.td: functions of a model.
//
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
         OptionalAttr<Mf_LayerSettingsAttr>:$settings,
         OptionalAttr<FlatSymbolRefAttr>:$cell_tree,
         UnitAttr:$joins_next,
         DefaultValuedAttr<I64Attr, "0">:$past,
         DefaultValuedAttr<I64Attr, "0">:$future),
    [HasParent<"ModelOp">]> {
  let summary = "one layer: a region of tensor operators";
  let description = [{
    An `embedding` layer takes the tokens. A `body` layer takes the results of
    the layer before it, in order. A `head` layer takes those and, if it computes
    the loss, the labels. A result that is a scalar in fp32 is a loss: it is added
    to the step's loss and not passed to the next layer. `placement` is the
    layer's stage and chunk once the model is partitioned. `settings` is what the YAML
    asks of a body layer.

    The last argument may be a draw, tensor<3xi64>: the seed, the number of the
    step's update and that of the micro-batch. Random bits depend on these.

    An `embedding` layer that follows other layers takes their results before its
    tokens. A layer with `joins_next` belongs to the body layer behind it and has
    that layer's stage and settings. Such a layer prepares the input of a layer
    that predicts a later token.

    A layer may be a version for one piece of the sequence. Its last `future`
    results go to the versions for all later pieces. Its last `past`
    floating-point arguments are such results of the versions for earlier
    pieces, in the order of pieces.

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
    /// Returns the types of the results that the next layer takes: all except
    /// losses and the values for later pieces.
    ::llvm::SmallVector<::mlir::Type> getHiddenResultTypes();
    /// Returns whether the layer counts among those that are distributed over
    /// stages: body layers that are not joined to another layer.
    bool isNumbered() {
      return getKind() == LayerKind::Body && !getJoinsNext();
    }
    /// Returns the index of the first argument that comes from earlier pieces.
    /// Step inputs follow these arguments.
    unsigned getFirstPast();
    /// Returns the name without the piece, which the cells of operators are
    /// relative to.
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
    `mf.cut` separates the halves. Its operands are the outputs of the chunk: the
    values for the next chunk and then the losses. Its results are the gradients
    of these. Values of forward that backward needs are plain uses, which
    recompute and swap rewrite. The chunk returns the gradients of the hidden
    inputs, in their order, and then one gradient per parameter of `gradients`.
    The first chunk with a trained parameter returns no gradients of hidden
    inputs, and chunks before it have no backward.

    `inputs` and `input_indices` say which arguments are step inputs, such as
    tokens and labels. The other arguments, if any, are the hidden inputs.

    The last `past` hidden inputs come from the chunk's versions for earlier
    pieces of the sequence. The last operands of the cut are the values that later
    pieces read. If there is a later piece, these are first the `past` inputs
    again, so that backward receives the gradients that later pieces added up for
    them, and then the `future` values of this piece.
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// Returns the `mf.cut` between forward and backward.
    ::mf::ir::CutOp getCut();
    /// Returns the number of operands of the cut that are inputs from earlier
    /// pieces.
    int64_t getNumPassedOn() { return getFuture() > 0 ? getPast() : 0; }
  }];
}

def Mf_CutOp : Mf_Op<"cut", [HasParent<"ChunkOp">,
    RangedTypesMatchWith<"gradients have the types of the outputs", "outputs",
                         "output_gradients", "$_self">]> {
  let summary = "the end of forward and the start of backward";
  let description = [{
    The operands are all outputs of the chunk, the results their gradients.

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
    The first `outputs` results (1 by default) are the chunk's outputs: the values
    for the next chunk, then the losses, then `future` values for later pieces of
    the sequence. The other results are the residuals, which are kept for
    backward. The last `past` arguments are the `future` values of earlier pieces.
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
    /// Returns the types of the values whose gradients backward receives: the
    /// outputs other than those for later pieces and, if there are such, the
    /// values from earlier pieces and those for later ones.
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
  let summary = "backward of one chunk, or its half that computes input gradients";
  let description = [{
    The arguments are, in this order: the gradients of the chunk's `outputs`
    outputs (1 by default; with values for later pieces of the sequence, also the
    gradients that later pieces computed for values of earlier ones); the
    arguments of forward that `forward_arguments` lists; the outputs of forward
    that `forward_outputs` lists, which later pieces read too; all residuals of
    forward; and the results of the `mf.recompute` of the same placement, if there
    is one. The results are the gradients of the hidden inputs, which the first
    trained chunk does not have; one gradient per parameter of `gradients`; and
    the `kept` values (0 by default) that the `mf.backward_weights` of the same
    placement reads.
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// Returns the types that a task passes: output gradients, then arguments
    /// and outputs of forward. The residuals after them come from the frame.
    ::llvm::ArrayRef<::mlir::Type> getPassedTypes() {
      return getArgumentTypes().take_front(getOutputs() +
                                           getForwardArguments().size() +
                                           getForwardOutputs().size());
    }
    ::llvm::ArrayRef<::mlir::Type> getResidualTypes() {
      return getArgumentTypes().drop_front(getPassedTypes().size());
    }
    /// Returns the types of the gradients of hidden inputs.
    ::llvm::ArrayRef<::mlir::Type> getInputGradientTypes() {
      return getResultTypes().drop_back(getGradients().size() + getKept());
    }
    ::llvm::ArrayRef<::mlir::Type> getKeptTypes() {
      return getResultTypes().take_back(getKept());
    }
    /// Checks that the arguments match the results of the other functions of
    /// its placement. `recompute` may be null.
    ::llvm::LogicalResult verifyAgainst(::mf::ir::ForwardOp forward,
                                        ::mf::ir::RecomputeOp recompute);
  }];
}

def Mf_RecomputeOp : Mf_FunctionOp<"recompute",
    (ins Mf_PlacementAttr:$placement, I64ArrayAttr:$forward_arguments,
         DefaultValuedAttr<I64ArrayAttr, "{}">:$forward_outputs),
    [HasParent<"ModelOp">]> {
  let summary = "the recomputation of one chunk that needs no gradient";
  let description = [{
    The function runs between the `mf.forward` and the `mf.backward` of its
    placement. Its arguments are the arguments of forward that `forward_arguments`
    lists, the outputs of forward that `forward_outputs` lists, and all residuals
    of forward. `mf.backward` and `mf.backward_weights` take its results right
    after the residuals.

    ```mlir
    mf.recompute @chunk0.recompute (%x: tensor<4xf32>, %kept: tensor<4xf32>)
        -> tensor<4xf32> attributes {forward_arguments = [0],
        placement = #mf.placement<stage = 0, chunk = 0>} { ... }
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// Returns the types that a task passes: arguments and outputs of forward.
    /// The residuals after them come from the frame.
    ::llvm::ArrayRef<::mlir::Type> getPassedTypes() {
      return getArgumentTypes().take_front(getForwardArguments().size() +
                                           getForwardOutputs().size());
    }
    /// Checks that the arguments match the results of the forward function of
    /// its placement.
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
  let summary = "the half of a split backward that computes gradients of "
                "parameters";
  let description = [{
    The function runs after the `mf.backward` of its placement. Its arguments are
    the gradients of the outputs that `output_gradients` lists, the arguments of
    forward that `forward_arguments` lists, all residuals of forward, all results
    of `mf.recompute` and all values that backward kept. It returns one gradient
    per parameter of `gradients`, none of which backward computes. The body may be
    empty.

    ```mlir
    mf.backward_weights @split.weights (%dloss: tensor<f32>, %x: tensor<4xf32>,
        %r: tensor<4xf32>, %kept: tensor<4xf32>) -> tensor<4xf32>
        attributes {forward_arguments = [0], gradients = [@w],
        output_gradients = [1], placement = #mf.placement<stage = 0, chunk = 0>} { ... }
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = functionDeclarations # [{
    /// Returns the types that a task passes: output gradients, then arguments
    /// of forward. The residuals and kept values after them come from the
    /// frame.
    ::llvm::ArrayRef<::mlir::Type> getPassedTypes() {
      return getArgumentTypes().take_front(getOutputGradients().size() +
                                           getForwardArguments().size());
    }
    /// Returns the types of the residuals of forward, the recomputed values and
    /// the values that backward kept.
    ::llvm::ArrayRef<::mlir::Type> getFrameTypes() {
      return getArgumentTypes().drop_front(getPassedTypes().size());
    }
    /// Checks that the arguments match the results of the other functions of
    /// its placement.
    ::llvm::LogicalResult verifyAgainst(::mf::ir::ForwardOp forward,
                                        ::mf::ir::RecomputeOp recompute,
                                        ::mf::ir::BackwardOp backward);
  }];
}
