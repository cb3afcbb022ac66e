//===- MfModelOps.cpp - The model and its chunks --------------------------===//
// SPDX-License-Identifier: Apache-2.0

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

/// Checks that a layer takes the results that its versions for earlier pieces
/// of the sequence return. Their types are in `given`, to which this layer's
/// are appended.
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

/// Checks that a layer that joins the next one is followed by a body layer.
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

/// Checks that the first arguments of each layer but the first are the results
/// of the layer before it, except for losses. An embedding at the start of a
/// piece may follow the layers for an earlier piece of the sequence.
static LogicalResult verifyLayerChain(ModelOp model) {
  LayerOp previous;
  llvm::StringMap<SmallVector<Type>> given;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    if (failed(verifyPast(layer, given[layer.getCell()])))
      return failure();
    // The layers for one piece follow all layers for the previous piece.
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

/// Checks that the functions of one placement take the values that the others
/// return.
static LogicalResult verifyFunctionPairs(ModelOp model) {
  DenseMap<Attribute, ForwardOp> forwards;
  DenseMap<Attribute, BackwardOp> backwards;
  DenseMap<Attribute, RecomputeOp> recomputes;
  for (ForwardOp forward : model.getBody().getOps<ForwardOp>())
    forwards.try_emplace(forward.getPlacement(), forward);
  for (BackwardOp backward : model.getBody().getOps<BackwardOp>())
    backwards.try_emplace(backward.getPlacement(), backward);
  for (RecomputeOp recompute : model.getBody().getOps<RecomputeOp>())
    recomputes.try_emplace(recompute.getPlacement(), recompute);
  for (auto &op : model.getBody().front()) {
    if (auto backward = dyn_cast<BackwardOp>(op))
      if (ForwardOp forward = forwards.lookup(backward.getPlacement());
          forward && failed(backward.verifyAgainst(
                         forward, recomputes.lookup(backward.getPlacement()))))
        return failure();
    if (auto recompute = dyn_cast<RecomputeOp>(op))
      if (ForwardOp forward = forwards.lookup(recompute.getPlacement());
          forward && failed(recompute.verifyAgainst(forward)))
        return failure();
    if (auto weights = dyn_cast<BackwardWeightsOp>(op)) {
      BackwardOp backward = backwards.lookup(weights.getPlacement());
      ForwardOp forward = forwards.lookup(weights.getPlacement());
      if (forward && backward &&
          failed(weights.verifyAgainst(
              forward, recomputes.lookup(weights.getPlacement()), backward)))
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

/// Checks that axes of the mesh cut each dimension evenly.
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
    int64_t parts = getGroupSize(param, axes);
    if (type.getDimSize(dim) % parts != 0)
      return param.emitOpError("expected dimension ")
             << dim << " of " << type << " to be a multiple of " << parts
             << ", the ranks of " << axes;
  }
  return success();
}

/// Checks that there is a list of names for each dimension.
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

static LogicalResult verifyMatrices(ParamOp param) {
  std::optional<MatricesAttr> matrices = param.getMatrices();
  if (!matrices)
    return success();
  RankedTensorType type = param.getTensorType();
  const int64_t rank = type.getRank();
  if (rank != 2 && rank != 3)
    return param.emitOpError("expected a weight of two or three dimensions "
                             "where there are matrices, but got ")
           << type;
  const int64_t extent = type.getDimSize(rank - 2 + matrices->getDim());
  if (matrices->countPeriods(extent))
    return success();
  return param.emitOpError("has ")
         << extent << (matrices->getDim() == 0 ? " rows" : " columns")
         << ", which parts of " << matrices->getSizes()
         << " and what is behind them do not fill";
}

/// Checks that the matrices of a clipped weight have the parts of heads as
/// periods along their rows.
static LogicalResult verifyLogitClip(ParamOp param) {
  std::optional<LogitClipAttr> clip = param.getLogitClip();
  if (!clip)
    return success();
  std::optional<MatricesAttr> matrices = param.getMatrices();
  const bool areCounts = llvm::all_of(clip->getRoots(), [](Attribute root) {
    auto number = dyn_cast<IntegerAttr>(root);
    return number && number.getInt() >= 0 && number.getInt() <= 8;
  });
  if (matrices && matrices->getDim() == 0 && areCounts &&
      param.getTensorType().getRank() == 2 &&
      matrices->getPeriod().size() == clip->getRoots().size())
    return success();
  return param.emitOpError("expected parts of rows in 'matrices' and a number "
                           "of roots for each of them, but got ")
         << *clip;
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
      failed(verifyLayout(*this, getStoredAttr())) ||
      failed(verifyMatrices(*this)) || failed(verifyLogitClip(*this)))
    return failure();
  return verifyStorage(*this);
}

LogicalResult GetParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  if (!param)
    return emitOpError("expected a parameter, but got '") << getParam() << "'";
  // Between the sharding passes, values are whole and have a layout.
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
