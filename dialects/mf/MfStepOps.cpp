//===- MfStepOps.cpp - Schedules and the optimizer ------------------------===//

#include "dialects/mf/MfOps.h"
#include "llvm/ADT/SetVector.h"

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

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

static LogicalResult verifyRuns(Operation *op, StringRef name, int64_t runs) {
  if (runs >= 1)
    return success();
  return op->emitOpError("expected '")
         << name << "' to be at least 1, but got " << runs;
}

LogicalResult LoadOp::verify() {
  if (getInput() != InputKind::Tokens && getInput() != InputKind::Labels)
    return emitOpError("expected tokens or labels, but got ")
           << stringifyInputKind(getInput());
  return verifyRuns(*this, "ahead", getAhead());
}

LogicalResult ReceiveOp::verify() {
  return verifyRuns(*this, "ahead", getAhead());
}

LogicalResult SendOp::verify() {
  return verifyRuns(*this, "behind", getBehind());
}

/// Whether `run` passes to and gets from `function` what that takes and gives.
static LogicalResult verifyTypes(Operation *run, FlatSymbolRefAttr function,
                                 TypeRange passed, TypeRange taken,
                                 const Twine &takenNote, TypeRange got,
                                 TypeRange returned, StringRef what) {
  if (passed != taken)
    return run->emitOpError("passes (")
           << passed << "), but '" << function.getValue() << "' takes ("
           << taken << ")" << takenNote;
  if (got != returned)
    return run->emitOpError("has ")
           << what << " (" << got << "), but '" << function.getValue()
           << "' returns (" << returned << ")";
  return success();
}

LogicalResult RunForwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto forward = lookupFunction<ForwardOp>(*this, symbols, getForwardAttr());
  if (!forward || failed(verifyTypes(
                      *this, getForwardAttr(), getInputs().getTypes(),
                      forward.getArgumentTypes(), "", getOutputs().getTypes(),
                      forward.getOutputTypes(), "outputs")))
    return failure();
  FlatSymbolRefAttr frame = cast<FrameType>(getFrame().getType()).getChunk();
  if (frame != getForwardAttr())
    return emitOpError("has a frame of '")
           << frame.getValue() << "', but runs '" << getForward() << "'";
  return success();
}

/// Whether `frame` holds what a function of chunk `placement` reads.
static LogicalResult verifyFrame(Operation *run, SymbolTableCollection &symbols,
                                 Value frame, PlacementAttr placement) {
  auto forward = lookupFunction<ForwardOp>(
      run, symbols, cast<FrameType>(frame.getType()).getChunk());
  if (!forward)
    return failure();
  if (forward.getPlacement() == placement)
    return success();
  return run->emitOpError("reads a frame of '")
         << forward.getSymName() << "', which is at " << forward.getPlacement()
         << " and not at " << placement;
}

LogicalResult RunBackwardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto backward = lookupFunction<BackwardOp>(*this, symbols, getBackwardAttr());
  if (!backward ||
      failed(verifyTypes(*this, getBackwardAttr(), getArguments().getTypes(),
                         backward.getPassedTypes(), " before its residuals",
                         getInputGradients().getTypes(),
                         backward.getInputGradientTypes(), "input gradients")))
    return failure();
  return verifyFrame(*this, symbols, getFrame(), backward.getPlacement());
}

LogicalResult
RunBackwardWeightsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weights =
      lookupFunction<BackwardWeightsOp>(*this, symbols, getWeightsAttr());
  if (!weights ||
      failed(verifyTypes(*this, getWeightsAttr(), getArguments().getTypes(),
                         weights.getPassedTypes(), " before its residuals", {},
                         {}, "results")))
    return failure();
  return verifyFrame(*this, symbols, getFrame(), weights.getPlacement());
}

LogicalResult AccumulateLossOp::verify() {
  auto type = cast<RankedTensorType>(getLoss().getType());
  if (type.getRank() != 0 || !type.getElementType().isF32())
    return emitOpError("expected a scalar in fp32, but got ") << type;
  return success();
}

LogicalResult LossGradientOp::verify() {
  auto scalar = RankedTensorType::get({}, Float32Type::get(getContext()));
  if (getScaled() && getType() != scalar)
    return emitOpError("expected ")
           << scalar << " for a scaled gradient, but got " << getType();
  return success();
}

LogicalResult RunUpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(static_cast<bool>(
      lookupFunction<UpdateOp>(*this, symbols, getUpdateAttr())));
}

//===----------------------------------------------------------------------===//
// Updates and their operators on state
//===----------------------------------------------------------------------===//

LogicalResult UpdateOp::verify() {
  auto scalar = RankedTensorType::get({}, Float32Type::get(getContext()));
  ArrayRef<Type> arguments = getArgumentTypes();
  if (arguments.size() < 2 || arguments.size() > 3 ||
      !llvm::all_equal(arguments) || arguments.front() != scalar)
    return emitOpError("expected two or three fp32 scalars, the learning rate, "
                       "the step number and the loss scale, but takes (")
           << arguments << ")";
  return success();
}

static LogicalResult verifyParameter(Operation *op,
                                     SymbolTableCollection &symbols,
                                     FlatSymbolRefAttr name) {
  if (symbols.lookupNearestSymbolFrom<ParamOp>(op, name))
    return success();
  return op->emitOpError("expected a parameter, but got '")
         << name.getValue() << "'";
}

static LogicalResult verifyParameters(Operation *op,
                                      SymbolTableCollection &symbols,
                                      ArrayAttr names) {
  for (auto name : names.getAsRange<FlatSymbolRefAttr>())
    if (failed(verifyParameter(op, symbols, name)))
      return failure();
  return success();
}

LogicalResult ReduceTiedOp::verify() {
  if (getTied().empty() || getStages().size() != getTied().size() + 1)
    return emitOpError("expected the owner's stage and one for each tied "
                       "parameter, but got ")
           << getStages().size() << " for " << getTied().size();
  auto update = (*this)->getParentOfType<UpdateOp>();
  if (!llvm::is_contained(getStages(), static_cast<int64_t>(update.getStage())))
    return emitOpError("is in the update of stage ")
           << update.getStage() << ", which holds none of its parameters";
  return success();
}

LogicalResult ReduceTiedOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyParameter(*this, symbols, getOwnerAttr())) ||
      failed(verifyParameters(*this, symbols, getTied())))
    return failure();
  for (auto name : getTied().getAsRange<FlatSymbolRefAttr>())
    if (symbols.lookupNearestSymbolFrom<ParamOp>(*this, name).getTied() !=
        getOwner())
      return emitOpError("expected '")
             << name.getValue() << "' to be tied to '" << getOwner() << "'";
  return success();
}

SmallVector<StringRef> ReduceTiedOp::getParametersOn(int64_t stage) {
  SmallVector<StringRef> names;
  if (getStages().front() == stage)
    names.push_back(getOwner());
  for (auto [name, place] : llvm::zip(getTied().getAsRange<FlatSymbolRefAttr>(),
                                      getStages().drop_front()))
    if (place == stage)
      names.push_back(name.getValue());
  return names;
}

void ReduceTiedOp::emitLaunches(LaunchEmitter &emitter) {
  auto stage =
      static_cast<int64_t>((*this)->getParentOfType<UpdateOp>().getStage());
  SmallVector<StringRef> names = getParametersOn(stage);
  auto getGradient = [&](StringRef name) {
    return emitter.getState(State::Gradient, name);
  };
  EmittedBuffer sum = getGradient(names.front());
  for (StringRef name : ArrayRef(names).drop_front())
    emitter.launch("aclnnInplaceAdd", getGradient(name), sum);
  llvm::SmallSetVector<int64_t, 4> holders(getStages().begin(),
                                           getStages().end());
  if (holders.size() == 1)
    return;
  EmittedCollective collective;
  collective.input = collective.output = sum;
  collective.axes = {"pp"};
  llvm::append_range(collective.stages, holders);
  collective.channel = ("tied." + getOwner()).str();
  emitter.communicate(collective);
  // Without the owner each has memory of its own.
  if (stage != getStages().front())
    for (StringRef name : ArrayRef(names).drop_front())
      emitter.launch("aclnnInplaceCopy", sum, getGradient(name));
}

LogicalResult GradientNormsOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (type.getRank() != 1 || !type.getElementType().isF32())
    return emitOpError("expected a vector in fp32, but got ") << type;
  int64_t size = type.getDimSize(0);
  if (getPositions().size() != getParameters().size() ||
      llvm::any_of(getPositions().getAsRange<IntegerAttr>(),
                   [&](IntegerAttr position) {
                     return position.getInt() < 0 || position.getInt() >= size;
                   }))
    return emitOpError("expected one position below ")
           << size << " for each of its " << getParameters().size()
           << " parameters";
  return success();
}

LogicalResult
GradientNormsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyParameters(*this, symbols, getParameters());
}

void GradientNormsOp::emitLaunches(LaunchEmitter &emitter) {
  EmittedBuffer norms = emitter.createBuffer(getResult());
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

LogicalResult
ScaleGradientsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyParameters(*this, symbols, getParameters());
}

void ScaleGradientsOp::emitLaunches(LaunchEmitter &emitter) {
  for (auto parameter : getParameters().getAsRange<FlatSymbolRefAttr>())
    emitter.launch("aclnnForeachMulScalar", emitter.getBuffer(getFactor()),
                   emitter.getState(State::Gradient, parameter.getValue()));
}

LogicalResult AdamWOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyParameter(*this, symbols, getParamAttr());
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
                  emitter.getBuffer(getStep()),
                  emitter.getBuffer(getLearningRate()),
                  emitter.getBuffer(getOverflow())},
                 {emitter.getState(State::Parameter, getParam()),
                  emitter.getState(State::FirstMoment, getParam()),
                  emitter.getState(State::SecondMoment, getParam())},
                 attributes.getDictionary(getContext()));
}

void NonFiniteOp::emitLaunches(LaunchEmitter &emitter) {
  EmittedBuffer flag = emitter.createBuffer(getResult());
  emitter.launch("aclnnInplaceZero", {}, flag);
  emitter.launch("mfNonFiniteCheck", emitter.getBuffer(getInput()), flag);
}

//===----------------------------------------------------------------------===//
// Statistics and reports
//===----------------------------------------------------------------------===//

static LogicalResult verifyStatistic(Operation *op,
                                     SymbolTableCollection &symbols,
                                     FlatSymbolRefAttr name, UpdateRule rule) {
  if (failed(verifyParameter(op, symbols, name)))
    return failure();
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(op, name);
  if (param.getUpdateRule() == rule)
    return success();
  return op->emitOpError("expected a parameter with update_rule = "
                         "#mf.update_rule<")
         << stringifyUpdateRule(rule) << ">, but '" << name.getValue()
         << "' has " << (param.getUpdateRule() ? "another" : "none");
}

LogicalResult
BalanceExpertsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyStatistic(*this, symbols, getParamAttr(), UpdateRule::Balance);
}

void BalanceExpertsOp::emitLaunches(LaunchEmitter &emitter) {
  Builder builder(getContext());
  NamedAttrList attributes;
  attributes.set("rate", getRateAttr());
  attributes.set("target", getTargetAttr());
  emitter.launch("mfUpdateExpertBias",
                 emitter.getState(State::Gradient, getParam()),
                 emitter.getState(State::Parameter, getParam()),
                 attributes.getDictionary(getContext()));
}

LogicalResult
RecordStatisticOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(
          verifyStatistic(*this, symbols, getParamAttr(), UpdateRule::Record)))
    return failure();
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  if (param.getStoredType() == getType())
    return success();
  return emitOpError("expected a result of type ")
         << param.getStoredType() << ", but got " << getType();
}

void RecordStatisticOp::emitLaunches(LaunchEmitter &emitter) {
  EmittedBuffer value = emitter.getState(State::Gradient, getParam());
  emitter.launch("aclnnInplaceCopy", value,
                 emitter.getState(State::Parameter, getParam()));
  emitter.launch("aclnnInplaceCopy", value, emitter.createBuffer(getResult()));
}

void ReportOp::emitLaunches(LaunchEmitter &emitter) {
  auto type = cast<RankedTensorType>(getValue().getType());
  emitter.launch("aclnnInplaceCopy", emitter.getBuffer(getValue()),
                 emitter.getReport(getQuantity(), type));
}
