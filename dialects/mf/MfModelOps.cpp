//===- MfModelOps.cpp - The model and its chunks --------------------------===//

#include "dialects/mf/MfOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// ModelOp
//===----------------------------------------------------------------------===//

int64_t ModelOp::getNumBodyLayers() {
  int64_t count = 0;
  for (LayerOp layer : getBody().getOps<LayerOp>())
    count += layer.isNumbered();
  return count;
}

static int64_t getPiece(LayerOp layer) {
  PlacementAttr placement = layer.getPlacementAttr();
  return placement ? placement.getPiece() : 0;
}

/// A layer takes what its versions for earlier pieces of the sequence give, of
/// which `given` has the types so far.
static LogicalResult verifyPast(LayerOp layer, SmallVectorImpl<Type> &given) {
  ArrayRef<Type> taken = layer.getArgumentTypes()
                             .drop_front(layer.getFirstPast())
                             .take_front(layer.getPast());
  if (taken != ArrayRef<Type>(given))
    return layer.emitOpError("takes ")
           << taken << " of earlier pieces of the sequence, but these return "
           << ArrayRef<Type>(given);
  llvm::append_range(given,
                     layer.getResultTypes().take_back(layer.getFuture()));
  return success();
}

/// A layer that joins the next is followed by a body layer.
static LogicalResult verifyJoins(ModelOp model) {
  LayerOp joining;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    if (joining && layer.getKind() != LayerKind::Body && !layer.getJoinsNext())
      break;
    joining = layer.getJoinsNext() ? layer : LayerOp();
  }
  return joining ? joining.emitOpError("joins the next layer, but no body "
                                       "layer follows it")
                 : success();
}

/// Each layer but the first takes the results of the layer before it, but for
/// losses, first. An embedding in front may stand behind the layers for an
/// earlier piece of the sequence.
static LogicalResult verifyLayerChain(ModelOp model) {
  LayerOp previous;
  llvm::StringMap<SmallVector<Type>> given;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    if (failed(verifyPast(layer, given[layer.getCell()])))
      return failure();
    // The layers for a piece stand behind all of the one before.
    if (previous && getPiece(previous) != getPiece(layer))
      previous = {};
    const bool isFront =
        layer.getKind() == LayerKind::Embedding && layer.getFirstPast() == 0;
    if (isFront) {
      if (previous)
        return layer.emitOpError(
            "expected an embedding that takes tokens alone to be the first "
            "layer");
    } else if (previous) {
      SmallVector<Type> expected = previous.getHiddenResultTypes();
      ArrayRef<Type> taken = layer.getArgumentTypes();
      taken = taken.take_front(layer.getFirstPast());
      if (taken != ArrayRef<Type>(expected)) {
        InFlightDiagnostic error = layer.emitOpError("takes ")
                                   << taken
                                   << ", but the layer before it returns "
                                   << ArrayRef<Type>(expected);
        error.attachNote(previous.getLoc()) << "layer before it is here";
        return error;
      }
    }
    previous = layer;
  }
  return success();
}

/// The functions of one placement take values that the others return.
static LogicalResult verifyFunctionPairs(ModelOp model) {
  DenseMap<Attribute, ForwardOp> forwards;
  DenseMap<Attribute, BackwardOp> backwards;
  for (ForwardOp forward : model.getBody().getOps<ForwardOp>())
    forwards.try_emplace(forward.getPlacement(), forward);
  for (BackwardOp backward : model.getBody().getOps<BackwardOp>())
    backwards.try_emplace(backward.getPlacement(), backward);
  for (auto &op : model.getBody().front()) {
    if (auto backward = dyn_cast<BackwardOp>(op))
      if (ForwardOp forward = forwards.lookup(backward.getPlacement());
          forward && failed(backward.verifyAgainst(forward)))
        return failure();
    if (auto weights = dyn_cast<BackwardWeightsOp>(op)) {
      BackwardOp backward = backwards.lookup(weights.getPlacement());
      ForwardOp forward = forwards.lookup(weights.getPlacement());
      if (forward && backward &&
          failed(weights.verifyAgainst(forward, backward)))
        return failure();
    }
  }
  return success();
}

LogicalResult ModelOp::verifyRegions() {
  if (getMicroBatchSize() <= 0 || getSequenceLength() <= 0 ||
      getVocabSize() <= 0)
    return emitOpError("expected micro_batch_size, sequence_length and "
                       "vocab_size to be positive");
  mlir::SymbolTable symbols(*this);
  for (ParamOp param : getBody().getOps<ParamOp>()) {
    std::optional<StringRef> tied = param.getTied();
    if (!tied)
      continue;
    auto owner = symbols.lookup<ParamOp>(*tied);
    if (!owner || owner.getTied())
      return param.emitOpError("expected a parameter that is not tied itself, "
                               "but got '")
             << *tied << "'";
    if (owner.getType() != param.getType())
      return param.emitOpError("has type ")
             << param.getType() << ", but is tied to " << owner.getType();
  }
  if (failed(verifyReductions(*this)) || failed(verifyLayerChain(*this)) ||
      failed(verifyJoins(*this)))
    return failure();
  return verifyFunctionPairs(*this);
}

//===----------------------------------------------------------------------===//
// ParamOp and GetParamOp
//===----------------------------------------------------------------------===//

/// Each dimension is cut evenly, by axes of the mesh.
static LogicalResult verifyLayout(ParamOp param, LayoutAttr layout) {
  if (!layout)
    return success();
  RankedTensorType type = param.getTensorType();
  if (static_cast<int64_t>(layout.getCuts().size()) != type.getRank() ||
      !layout.getPartial().empty())
    return param.emitOpError("expected a layout of ")
           << type << " that is not partial, but got " << layout;
  for (auto [dim, axes] :
       llvm::enumerate(layout.getCuts().getAsRange<ArrayAttr>())) {
    if (failed(verifyAxes(param, axes)))
      return failure();
    int64_t parts = getGroupSize(param, axes).value_or(1);
    if (type.getDimSize(dim) % parts != 0)
      return param.emitOpError("expected dimension ")
             << dim << " of " << type << " to be a multiple of " << parts
             << ", the ranks of " << axes;
  }
  return success();
}

/// A list of names for each dimension.
static LogicalResult verifyCuts(ParamOp param) {
  ArrayAttr cuts = param.getCutsAttr();
  auto isList = [](Attribute axes) {
    return isa<ArrayAttr>(axes) &&
           llvm::all_of(cast<ArrayAttr>(axes), llvm::IsaPred<StringAttr>);
  };
  if (!cuts ||
      (static_cast<int64_t>(cuts.size()) == param.getTensorType().getRank() &&
       llvm::all_of(cuts, isList)))
    return success();
  return param.emitOpError("expected cuts to be a list of axes for each "
                           "dimension of ")
         << param.getType() << ", but got " << cuts;
}

LogicalResult ParamOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (getInit().getKind() == InitKind::Coordinate) {
    if (!type || type.getRank() != 1 || !type.hasStaticShape() ||
        !type.getElementType().isSignlessInteger(32) || !getFrozen())
      return emitOpError("expected coordinates to be a frozen tensor<...xi32> "
                         "of one dimension, but got ")
             << getType();
  } else if (!type || !type.hasStaticShape() ||
             !isa<FloatType>(type.getElementType()) ||
             !hasAddressableSize(type)) {
    return emitOpError("expected a float tensor type of static shape and at "
                       "most 2^48 bytes, but got ")
           << getType();
  }
  if (failed(verifyCuts(*this)) ||
      failed(verifyLayout(*this, getLayoutAttr())) ||
      failed(verifyLayout(*this, getStoredAttr())))
    return failure();
  return verifyStorage(*this);
}

LogicalResult GetParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  if (!param)
    return emitOpError("expected a parameter, but got '") << getParam() << "'";
  // Between the sharding passes values are whole and have a layout.
  RankedTensorType expected =
      LayoutAttr::find(getType()) ? param.getTensorType() : param.getReadType();
  if (cast<RankedTensorType>(getType()).dropEncoding() != expected) {
    InFlightDiagnostic error = emitOpError("has type ")
                               << getType() << ", but the parameter is "
                               << expected;
    error.attachNote(param.getLoc()) << "parameter is here";
    return error;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

SmallVector<Type> LayerOp::getHiddenResultTypes() {
  SmallVector<Type> types(getResultTypes().drop_back(getFuture()));
  llvm::erase_if(types, isLoss);
  return types;
}

unsigned LayerOp::getFirstPast() {
  return getArgumentTypes().take_while(isFloatTensor).size() - getPast();
}

StringRef LayerOp::getCell() {
  StringRef name = getSymName();
  if (PlacementAttr placement = getPlacementAttr())
    name.consume_back(getPieceSuffix(placement.getPiece()));
  return name;
}

/// Whether `function` has as many arguments of earlier pieces, of
/// `numArguments` that may be, and values for later ones, of `numResults`, as
/// it says.
template <typename OpT>
static LogicalResult verifyPieces(OpT function, int64_t numArguments,
                                  int64_t numResults) {
  auto past = static_cast<int64_t>(function.getPast());
  auto future = static_cast<int64_t>(function.getFuture());
  if (past >= 0 && past <= numArguments && future >= 0 && future <= numResults)
    return success();
  return function.emitOpError("expected from 0 to ")
         << numArguments << " arguments of earlier pieces and from 0 to "
         << numResults << " values for later ones, but got " << past << " and "
         << future;
}

std::string mf::ir::getPieceSuffix(int64_t piece) {
  return piece == 0 ? "" : ".piece" + std::to_string(piece);
}

/// Whether it is the type of a draw, which may have a layout.
static bool isDraw(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.dropEncoding() == getDrawType(type.getContext());
}

LogicalResult LayerOp::verify() {
  ArrayRef<Type> arguments = getArgumentTypes();
  // Hidden inputs come first; only one step input follows them, or stands
  // alone, and at the end there may be a draw.
  if (!arguments.empty() && isDraw(arguments.back()))
    arguments = arguments.drop_back();
  size_t numHidden = arguments.take_while(isFloatTensor).size();
  size_t numSteps = arguments.size() - numHidden;
  bool isBody = getKind() == LayerKind::Body;
  if (arguments.empty() || numSteps > 1 || (isBody && numSteps > 0))
    return emitOpError("of kind ")
           << stringifyLayerKind(getKind()) << " expected "
           << (isBody ? "one or more floating-point arguments"
                      : "floating-point arguments and at most one step input "
                        "behind them")
           << ", but takes (" << getArgumentTypes() << ")";
  if (getResultTypes().empty() ||
      !llvm::all_of(getResultTypes(), isFloatTensor))
    return emitOpError("expected one or more floating-point results, but "
                       "returns (")
           << getResultTypes() << ")";
  return verifyPieces(*this, numHidden, getResultTypes().size());
}

/// Step inputs are different arguments of `function`.
static LogicalResult verifyStepInputs(FunctionOpInterface function,
                                      ArrayAttr inputs, ArrayAttr indices) {
  if (inputs.size() != indices.size())
    return function.emitOpError("expected one index for each of its ")
           << inputs.size() << " step inputs, but has " << indices.size();
  int64_t numArguments = function.getNumArguments();
  SmallVector<bool> seen(numArguments, false);
  for (auto attribute : indices.getAsRange<IntegerAttr>()) {
    int64_t index = attribute.getInt();
    if (index < 0 || index >= numArguments || seen[index])
      return function.emitOpError("expected step inputs to be different "
                                  "arguments below ")
             << numArguments << ", but got index " << index;
    seen[index] = true;
  }
  return success();
}

CutOp ChunkOp::getCut() { return *getBody().getOps<CutOp>().begin(); }

LogicalResult CutOp::verify() {
  if (getOutputs().empty())
    return emitOpError("expected one or more outputs of the chunk");
  return success();
}

LogicalResult ChunkOp::verify() {
  if (failed(verifyStepInputs(*this, getInputs(), getInputIndices())))
    return failure();
  size_t numCuts = llvm::range_size(getBody().getOps<CutOp>());
  if (numCuts != 1)
    return emitOpError("expected one mf.cut, but has ") << numCuts;
  size_t numResults = getResultTypes().size();
  size_t numHidden = getArgumentTypes().size() - getInputs().size();
  if (numResults != numHidden + getGradients().size())
    return emitOpError("expected ")
           << numHidden + getGradients().size()
           << " results, the gradients of its hidden inputs and those of its "
              "parameters, but has "
           << numResults;
  return verifyPieces(*this, static_cast<int64_t>(numHidden),
                      static_cast<int64_t>(getCut().getOutputs().size()));
}

LogicalResult ForwardOp::verify() {
  if (getOutputs() < 1 || getOutputs() > getResultTypes().size())
    return emitOpError("expected its outputs as its first results, but has ")
           << getResultTypes().size() << " results for " << getOutputs()
           << " outputs";
  if (failed(verifyPieces(*this,
                          static_cast<int64_t>(getArgumentTypes().size()),
                          static_cast<int64_t>(getOutputs()))))
    return failure();
  return verifyStepInputs(*this, getInputs(), getInputIndices());
}

/// `indices` are numbers of something of forward.
static LogicalResult verifyNumbers(FunctionOpInterface function,
                                   ArrayAttr indices, StringRef what) {
  for (auto index : indices.getAsRange<IntegerAttr>())
    if (index.getInt() < 0)
      return function.emitOpError("expected ")
             << what << " of forward by number, but got " << index.getInt();
  return success();
}

LogicalResult BackwardOp::verify() {
  if (failed(verifyNumbers(*this, getForwardArguments(), "arguments")) ||
      failed(verifyNumbers(*this, getForwardOutputs(), "outputs")))
    return failure();
  auto outputs = static_cast<int64_t>(getOutputs());
  auto kept = static_cast<int64_t>(getKept());
  if (outputs < 1 || kept < 0)
    return emitOpError("expected one or more outputs and no negative number of "
                       "kept values, but got ")
           << outputs << " and " << kept;
  size_t numResults = getResultTypes().size();
  if (numResults < getGradients().size() + kept)
    return emitOpError("expected ")
           << getGradients().size() << " parameter gradients and " << kept
           << " kept values behind the gradients of hidden inputs, but has "
           << numResults << " results";
  size_t numRead = getForwardArguments().size() + getForwardOutputs().size();
  if (getArgumentTypes().size() < outputs + numRead)
    return emitOpError("expected the gradients of ")
           << outputs << " outputs and " << numRead
           << " arguments of forward, but has only "
           << getArgumentTypes().size() << " arguments";
  return success();
}

LogicalResult BackwardWeightsOp::verify() {
  if (failed(verifyNumbers(*this, getOutputGradients(), "outputs")) ||
      failed(verifyNumbers(*this, getForwardArguments(), "arguments")))
    return failure();
  if (getResultTypes().size() != getGradients().size())
    return emitOpError("expected ")
           << getGradients().size() << " parameter gradients, but has "
           << getResultTypes().size() << " results";
  size_t numPassed = getOutputGradients().size() + getForwardArguments().size();
  if (getArgumentTypes().size() < numPassed)
    return emitOpError("expected the gradients of ")
           << getOutputGradients().size() << " outputs and "
           << getForwardArguments().size()
           << " arguments of forward, but has only "
           << getArgumentTypes().size() << " arguments";
  return success();
}

/// The last results of `function`, but for `kept` values behind them, are the
/// gradients of the parameters `names`.
static LogicalResult verifyGradients(FunctionOpInterface function,
                                     ArrayAttr names,
                                     SymbolTableCollection &symbols,
                                     int64_t kept = 0) {
  OperandRange values =
      getReturn(function).getValues().drop_back(kept).take_back(names.size());
  for (auto [name, value] :
       llvm::zip(names.getAsRange<FlatSymbolRefAttr>(), values)) {
    Type type = value.getType();
    auto param = symbols.lookupNearestSymbolFrom<ParamOp>(function, name);
    if (!param)
      return function.emitOpError("expected a parameter, but got '")
             << name.getValue() << "'";
    if (param.getAccumulatedType() != type)
      return function.emitOpError("returns ")
             << type << " as gradient of '" << name.getValue() << "', which is "
             << param.getAccumulatedType();
    if (failed(verifySummed(function, param, value)))
      return failure();
  }
  return success();
}

LogicalResult ChunkOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGradients(*this, getGradients(), symbols);
}

LogicalResult BackwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGradients(*this, getGradients(), symbols, getKept());
}

LogicalResult
BackwardWeightsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGradients(*this, getGradients(), symbols);
}

#define GET_OP_CLASSES
#include "dialects/mf/MfOps.cpp.inc"
