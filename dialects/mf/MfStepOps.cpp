//===- MfStepOps.cpp - Schedules and the optimizer ------------------------===//

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// The function of kind `OpT` named `symbol`, or an error on `user`.
template <typename OpT>
static OpT lookupFunction(Operation *user, SymbolTableCollection &symbols,
                          FlatSymbolRefAttr symbol) {
  auto function = symbols.lookupNearestSymbolFrom<OpT>(user, symbol);
  if (!function)
    user->emitOpError("expected an ")
        << OpT::getOperationName() << ", but got '" << symbol.getValue() << "'";
  return function;
}

LogicalResult RunForwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto forward = lookupFunction<ForwardOp>(*this, symbols, getForwardAttr());
  if (!forward)
    return failure();
  if (TypeRange(getInputs()) != TypeRange(forward.getArgumentTypes()))
    return emitOpError("passes (")
           << getInputs().getTypes() << "), but '" << getForward()
           << "' takes (" << forward.getArgumentTypes() << ")";
  if (getOutput().getType() != forward.getResultTypes().front())
    return emitOpError("has output ")
           << getOutput().getType() << ", but '" << getForward() << "' returns "
           << forward.getResultTypes().front();
  return success();
}

LogicalResult RunBackwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto backward = lookupFunction<BackwardOp>(*this, symbols, getBackwardAttr());
  if (!backward)
    return failure();
  SmallVector<Type> passed = {getOutputGradient().getType()};
  llvm::append_range(passed, getInputs().getTypes());
  ArrayRef<Type> expected = backward.getArgumentTypes().take_front(
      1 + backward.getForwardArguments().size());
  if (ArrayRef<Type>(passed) != expected)
    return emitOpError("passes (")
           << TypeRange(passed) << "), but '" << getBackward() << "' takes ("
           << TypeRange(expected) << ") before its residuals";
  bool hasInputGradient =
      backward.getResultTypes().size() > backward.getGradients().size();
  if (hasInputGradient != static_cast<bool>(getInputGradient()))
    return emitOpError("expected ")
           << (hasInputGradient ? "an" : "no") << " input gradient";
  return success();
}

LogicalResult RunUpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(static_cast<bool>(
      lookupFunction<UpdateOp>(*this, symbols, getUpdateAttr())));
}

//===----------------------------------------------------------------------===//
// Operators on state
//===----------------------------------------------------------------------===//

void ReduceTiedOp::emitLaunches(LaunchEmitter &emitter) {
  int64_t ownerStage = cast<IntegerAttr>(getStages()[0]).getInt();
  int64_t tiedStage = cast<IntegerAttr>(getStages()[1]).getInt();
  if (ownerStage == tiedStage) {
    emitter.launch("aclnnInplaceAdd",
                   emitter.getState(State::Gradient, getTied()),
                   emitter.getState(State::Gradient, getOwner()));
    return;
  }
  bool isOwner = getOperation()->getParentOfType<UpdateOp>().getStage() ==
                 static_cast<uint64_t>(ownerStage);
  // The owner's gradient comes first in the sum, as on a single stage.
  emitter.allReduce(
      emitter.getState(State::Gradient, isOwner ? getOwner() : getTied()),
      {ownerStage, tiedStage}, ("tied." + getTied()).str());
}

void GradientNormsOp::emitLaunches(LaunchEmitter &emitter) {
  Value norms = emitter.createBuffer(getResult());
  emitter.launch("aclnnInplaceZero", {}, norms);
  auto scalar = RankedTensorType::get({}, Float32Type::get(getContext()));
  for (auto [parameter, position] :
       llvm::zip(getParameters().getAsRange<FlatSymbolRefAttr>(),
                 getPositions().getAsRange<IntegerAttr>()))
    emitter.launch(
        "aclnnForeachNorm",
        emitter.getState(State::Gradient, parameter.getValue()),
        emitter.getPart(norms, position.getInt() * sizeof(float), scalar));
}

void AllReduceOp::emitLaunches(LaunchEmitter &emitter) {
  Value sum = emitter.createBuffer(getResult());
  emitter.launch("aclnnInplaceCopy", emitter.getBuffer(getInput()), sum);
  emitter.allReduce(sum,
                    llvm::to_vector(llvm::seq<int64_t>(0, emitter.getRanks())),
                    "stages");
}

void ScaleGradientsOp::emitLaunches(LaunchEmitter &emitter) {
  for (auto parameter : getParameters().getAsRange<FlatSymbolRefAttr>())
    emitter.launch("aclnnForeachMulScalarV2", emitter.getBuffer(getFactor()),
                   emitter.getState(State::Gradient, parameter.getValue()));
}

void AdamWOp::emitLaunches(LaunchEmitter &emitter) {
  NamedAttrList attributes;
  attributes.set("beta1", getBeta1Attr());
  attributes.set("beta2", getBeta2Attr());
  attributes.set("eps", getEpsAttr());
  attributes.set("weight_decay", getWeightDecayAttr());
  attributes.set("bias_correction", getBiasCorrectionAttr());
  emitter.launch("aclnnApplyAdamWV2",
                 {emitter.getState(State::Gradient, getParam()),
                  emitter.getBuffer(getLearningRate()),
                  emitter.getBuffer(getStep()),
                  emitter.getBuffer(getOverflow())},
                 {emitter.getState(State::Parameter, getParam()),
                  emitter.getState(State::FirstMoment, getParam()),
                  emitter.getState(State::SecondMoment, getParam())},
                 attributes.getDictionary(getContext()));
}

void NonFiniteOp::emitLaunches(LaunchEmitter &emitter) {
  Value flag = emitter.createBuffer(getResult());
  emitter.launch("aclnnInplaceZero", {}, flag);
  emitter.launch("aclnnForeachNonFiniteCheck", emitter.getBuffer(getInput()),
                 flag);
}

void ReportOp::emitLaunches(LaunchEmitter &emitter) {
  emitter.launch("aclnnInplaceCopy", emitter.getBuffer(getValue()),
                 emitter.getReport(getQuantity()));
}
