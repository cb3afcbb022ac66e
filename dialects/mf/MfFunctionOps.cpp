//===- MfFunctionOps.cpp - Layers, chunks and their functions -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

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

/// Checks that the `past` arguments and the `future` results of `function` are
/// not more than the numbers that it can have.
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

/// Returns whether this is the type of a draw, which may have a layout.
static bool isDraw(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.dropEncoding() == getDrawType(type.getContext());
}

LogicalResult LayerOp::verify() {
  ArrayRef<Type> arguments = getArgumentTypes();
  // Hidden inputs come first. At most one step input follows them, or is the
  // only argument, and the last argument may be a draw.
  if (!arguments.empty() && isDraw(arguments.back()))
    arguments = arguments.drop_back();
  size_t numHidden = arguments.take_while(isFloatTensor).size();
  size_t numSteps = arguments.size() - numHidden;
  bool isBody = getKind() == LayerKind::Body;
  if (arguments.empty() || numSteps > 1 || (isBody && numHidden == 0))
    return emitOpError("of kind ")
           << stringifyLayerKind(getKind()) << " expected "
           << (isBody ? "one or more " : "")
           << "floating-point arguments and at most one step input behind "
              "them, but takes ("
           << getArgumentTypes() << ")";
  if (getResultTypes().empty() ||
      !llvm::all_of(getResultTypes(), isFloatTensor))
    return emitOpError("expected one or more floating-point results, but "
                       "returns (")
           << getResultTypes() << ")";
  return verifyPieces(*this, static_cast<int64_t>(numHidden),
                      static_cast<int64_t>(getResultTypes().size()));
}

/// Checks that step inputs are different arguments of `function`.
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
  // The first chunk with trained parameters returns no gradients of its hidden
  // inputs, and earlier chunks have no gradients at all.
  size_t numInputGradients = numResults - getGradients().size();
  if (numResults < getGradients().size() ||
      !llvm::is_contained({size_t(0), size_t(getPast()), numHidden},
                          numInputGradients))
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

/// Checks that `indices` are valid indices of `what` of forward.
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

LogicalResult RecomputeOp::verify() {
  if (failed(verifyNumbers(*this, getForwardArguments(), "arguments")) ||
      failed(verifyNumbers(*this, getForwardOutputs(), "outputs")))
    return failure();
  size_t numPassed = getForwardArguments().size() + getForwardOutputs().size();
  if (getArgumentTypes().size() < numPassed)
    return emitOpError("expected ")
           << numPassed << " arguments and outputs of forward, but has only "
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

/// Checks that the last results of `function`, apart from the `kept` values
/// after them, are the gradients of the parameters `names`.
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
  return verifyGradients(*this, getGradients(), symbols,
                         static_cast<int64_t>(getKept()));
}

LogicalResult
BackwardWeightsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGradients(*this, getGradients(), symbols);
}

// clang-tidy does not check what tablegen writes.
#ifndef MF_TIDY
#define GET_OP_CLASSES
#include "dialects/mf/MfOps.cpp.inc"
#endif
