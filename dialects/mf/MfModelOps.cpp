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
    count += layer.getKind() == LayerKind::Body;
  return count;
}

/// Each layer but an embedding takes the result of the layer before it first.
static LogicalResult verifyLayerChain(ModelOp model) {
  LayerOp previous;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    if (layer.getKind() == LayerKind::Embedding) {
      if (previous)
        return layer.emitOpError(
            "expected the embedding to be the first layer");
    } else if (previous) {
      Type expected = previous.getResultTypes().front();
      if (layer.getArgumentTypes().front() != expected) {
        InFlightDiagnostic error = layer.emitOpError("takes ")
                                   << layer.getArgumentTypes().front()
                                   << ", but the layer before it returns "
                                   << expected;
        error.attachNote(previous.getLoc()) << "layer before it is here";
        return error;
      }
    }
    previous = layer;
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
  if (failed(verifyReductions(*this)))
    return failure();
  return verifyLayerChain(*this);
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
  if (!cuts || (static_cast<int64_t>(cuts.size()) ==
                    param.getTensorType().getRank() &&
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
  RankedTensorType expected = LayoutAttr::find(getType())
                                  ? param.getTensorType()
                                  : param.getReadType();
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

LogicalResult LayerOp::verify() {
  size_t numArguments = getArgumentTypes().size();
  size_t maximum = getKind() == LayerKind::Head ? 2 : 1;
  if (numArguments == 0 || numArguments > maximum)
    return emitOpError("of kind ")
           << stringifyLayerKind(getKind()) << " expected "
           << (maximum == 1 ? "one argument" : "one or two arguments")
           << ", but has " << numArguments;
  if (getResultTypes().size() != 1)
    return emitOpError("expected one result, but has ")
           << getResultTypes().size();
  return success();
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

LogicalResult ChunkOp::verify() {
  if (failed(verifyStepInputs(*this, getInputs(), getInputIndices())))
    return failure();
  size_t numCuts = llvm::range_size(getBody().getOps<CutOp>());
  if (numCuts != 1)
    return emitOpError("expected one mf.cut, but has ") << numCuts;
  size_t numResults = getResultTypes().size();
  size_t numHidden = getArgumentTypes().size() - getInputs().size();
  if (numHidden > 1)
    return emitOpError("expected at most one hidden input, but has ")
           << numHidden;
  if (numResults != numHidden + getGradients().size())
    return emitOpError("expected ")
           << numHidden + getGradients().size()
           << " results, the hidden input's gradient and those of its "
              "parameters, but has "
           << numResults;
  return success();
}

LogicalResult ForwardOp::verify() {
  if (getResultTypes().empty())
    return emitOpError("expected the chunk's output as its first result, but "
                       "has no results");
  return verifyStepInputs(*this, getInputs(), getInputIndices());
}

LogicalResult BackwardOp::verify() {
  for (auto index : getForwardArguments().getAsRange<IntegerAttr>())
    if (index.getInt() < 0)
      return emitOpError("expected arguments of forward by number, but got ")
             << index.getInt();
  size_t numResults = getResultTypes().size();
  size_t numGradients = getGradients().size();
  if (numResults < numGradients || numResults > numGradients + 1)
    return emitOpError("expected ")
           << numGradients << " parameter gradients and at most one input "
           << "gradient, but has " << numResults << " results";
  if (getArgumentTypes().size() < 1 + getForwardArguments().size())
    return emitOpError("expected the output's gradient and ")
           << getForwardArguments().size()
           << " arguments of forward, but has only "
           << getArgumentTypes().size() << " arguments";
  return success();
}

/// The last results of `function` are the gradients of the parameters `names`.
static LogicalResult verifyGradients(FunctionOpInterface function,
                                     ArrayAttr names,
                                     SymbolTableCollection &symbols) {
  ArrayRef<Type> types = function.getResultTypes().take_back(names.size());
  for (auto [name, type] :
       llvm::zip(names.getAsRange<FlatSymbolRefAttr>(), types)) {
    auto param = symbols.lookupNearestSymbolFrom<ParamOp>(function, name);
    if (!param)
      return function.emitOpError("expected a parameter, but got '")
             << name.getValue() << "'";
    if (param.getAccumulatedType() != type)
      return function.emitOpError("returns ")
             << type << " as gradient of '" << name.getValue() << "', which is "
             << param.getAccumulatedType();
  }
  return success();
}

LogicalResult ChunkOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGradients(*this, getGradients(), symbols);
}

LogicalResult BackwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGradients(*this, getGradients(), symbols);
}

#define GET_OP_CLASSES
#include "dialects/mf/MfOps.cpp.inc"
