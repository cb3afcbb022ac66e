//===- MfUpdateOps.cpp - Updates and their operators on state -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mf::ir;

LogicalResult UpdateOp::verify() {
  auto f32 = Float32Type::get(getContext());
  auto scalar = RankedTensorType::get({}, f32);
  Type rates = scalar;
  auto model = (*this)->getParentOfType<ModelOp>();
  if (TrainingAttr training = model ? model.getTrainingAttr() : nullptr)
    if (size_t groups = training.getLrSchedule().getGroupPatterns().size())
      rates = RankedTensorType::get({static_cast<int64_t>(groups) + 1}, f32);
  ArrayRef<Type> arguments = getArgumentTypes();
  if (rates != scalar && (arguments.empty() || arguments.front() != rates))
    return emitOpError("expected its first argument to be ")
           << rates << ", the learning rate and that of each group, but takes "
           << arguments;
  if (arguments.size() < 2 || arguments.size() > 3 ||
      arguments.front() != rates || !llvm::all_equal(arguments.drop_front()) ||
      arguments.back() != scalar)
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

SmallVector<StringRef> ReduceTiedOp::getGradientsHere() {
  return getParametersOn(
      static_cast<int64_t>((*this)->getParentOfType<UpdateOp>().getStage()));
}

void ReduceTiedOp::emitLaunches(LaunchEmitter &emitter) {
  SmallVector<StringRef> names = getGradientsHere();
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
  // On a stage without the owner, each parameter has its own memory.
  if (names.front() != getOwner())
    for (StringRef name : ArrayRef(names).drop_front())
      emitter.launch("aclnnInplaceCopy", sum, getGradient(name));
}

SmallVector<StringRef> mf::ir::getNames(ArrayAttr parameters) {
  return llvm::map_to_vector(
      parameters.getAsRange<FlatSymbolRefAttr>(),
      [](FlatSymbolRefAttr name) { return name.getValue(); });
}

LogicalResult mf::ir::verifyFactors(Operation *op) {
  auto scalar = RankedTensorType::get({}, Float32Type::get(op->getContext()));
  for (OpOperand &factor :
       cast<GradientReaderOpInterface>(op).getFactorsMutable())
    if (factor.get().getType() != scalar)
      return op->emitOpError("expected a factor of type ")
             << scalar << ", but got " << factor.get().getType();
  return success();
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

/// Returns the attributes that are numbers, under their names, for the launch
/// of the operator's kernel.
static DictionaryAttr getLaunchAttributes(Operation *op) {
  NamedAttrList attributes;
  for (NamedAttribute attribute : getDefaultKernelAttributes(op))
    if (isa<UnitAttr>(attribute.getValue()))
      attributes.set(attribute.getName(),
                     BoolAttr::get(op->getContext(), true));
    else if (isa<FloatAttr, BoolAttr>(attribute.getValue()))
      attributes.push_back(attribute);
  return attributes.getDictionary(op->getContext());
}

/// Returns the buffers of a gradient and of the factors that it is multiplied
/// by.
static SmallVector<EmittedBuffer>
getRead(LaunchEmitter &emitter, StringRef parameter, ValueRange factors) {
  SmallVector<EmittedBuffer> read = {
      emitter.getState(State::Gradient, parameter)};
  for (Value factor : factors)
    read.push_back(emitter.getBuffer(factor));
  return read;
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
        getRead(emitter, parameter.getValue(), getFactors()),
        emitter.getPart(norms,
                        static_cast<int64_t>(position.getInt() * sizeof(float)),
                        scalar));
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
  SmallVector<EmittedBuffer> inputs =
      getRead(emitter, getParam(), getFactors());
  inputs.insert(inputs.begin() + 1, {emitter.getBuffer(getStep()),
                                     emitter.getBuffer(getLearningRate()),
                                     emitter.getBuffer(getOverflow())});
  emitter.launch("aclnnApplyAdamWV2", inputs,
                 {emitter.getState(State::Parameter, getParam()),
                  emitter.getState(State::FirstMoment, getParam()),
                  emitter.getState(State::SecondMoment, getParam())},
                 getLaunchAttributes(*this));
}

/// Checks that a tensor of an update has the shape of the stored part of a
/// parameter.
static LogicalResult verifyDirection(Operation *op,
                                     SymbolTableCollection &symbols,
                                     FlatSymbolRefAttr name, Type direction) {
  if (failed(verifyParameter(op, symbols, name)))
    return failure();
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(op, name);
  if (param.getStoredType().getShape() ==
      cast<RankedTensorType>(direction).getShape())
    return success();
  return op->emitOpError("expected a direction of the shape of '")
         << name.getValue() << "', " << param.getStoredType() << ", but got "
         << direction;
}

LogicalResult MomentumOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyDirection(*this, symbols, getParamAttr(), getType());
}

void MomentumOp::emitLaunches(LaunchEmitter &emitter) {
  SmallVector<EmittedBuffer> inputs =
      getRead(emitter, getParam(), getFactors());
  inputs.insert(inputs.begin() + 1, emitter.getBuffer(getOverflow()));
  emitter.launch("mfMomentum", inputs,
                 {emitter.getState(State::FirstMoment, getParam()),
                  emitter.createBuffer(getResult())},
                 getLaunchAttributes(*this));
}

LogicalResult NewtonSchulzOp::verify() {
  RankedTensorType type = getMatrices().getType();
  if (type.getRank() != 3 || !type.getElementType().isFloat(16))
    return emitOpError("expected matrices [experts, rows, columns] in 16 bits, "
                       "but got ")
           << type;
  if (getCoefficients().empty() || getCoefficients().size() % 3 != 0)
    return emitOpError("expected three coefficients for each iteration, but "
                       "got ")
           << getCoefficients().size();
  return success();
}

static State getKeptState(AveragedState state) {
  switch (state) {
  case AveragedState::FirstMoment:
    return State::FirstMoment;
  case AveragedState::SecondMoment:
    return State::SecondMoment;
  case AveragedState::SquareRows:
    return State::SquareRows;
  case AveragedState::SquareColumns:
    return State::SquareColumns;
  case AveragedState::InstabilityRows:
    return State::InstabilityRows;
  case AveragedState::InstabilityColumns:
    return State::InstabilityColumns;
  }
  return State::FirstMoment;
}

LogicalResult TakeGradientOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyDirection(*this, symbols, getParamAttr(), getType());
}

void TakeGradientOp::emitLaunches(LaunchEmitter &emitter) {
  emitter.launch("mfTakeGradient", getRead(emitter, getParam(), getFactors()),
                 emitter.createBuffer(getResult()));
}

LogicalResult
UpdateAverageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyParameter(*this, symbols, getParamAttr())))
    return failure();
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  RankedTensorType state = getStateType(param, getKeptState(getState()));
  if (state && state.getShape() == cast<RankedTensorType>(getType()).getShape())
    return success();
  InFlightDiagnostic error =
      emitOpError("expected a value of the shape of the ")
      << stringifyAveragedState(getState()) << " of '" << getParam() << "', ";
  if (state)
    return error << state << ", but got " << getType();
  return error << "which is no matrix";
}

void UpdateAverageOp::emitLaunches(LaunchEmitter &emitter) {
  NamedAttrList attributes;
  attributes.set("decay", getDecayAttr());
  attributes.set("grows", BoolAttr::get(getContext(), getGrows()));
  emitter.launch("mfUpdateAverage",
                 {emitter.getBuffer(getValue()), emitter.getBuffer(getStep()),
                  emitter.getBuffer(getOverflow())},
                 {emitter.getState(getKeptState(getState()), getParam()),
                  emitter.createBuffer(getResult())},
                 attributes.getDictionary(getContext()));
}

LogicalResult TakeStepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyDirection(*this, symbols, getParamAttr(),
                         getDirection().getType());
}

void TakeStepOp::emitLaunches(LaunchEmitter &emitter) {
  emitter.launch("mfTakeStep",
                 {emitter.getBuffer(getDirection()),
                  emitter.getBuffer(getLearningRate()),
                  emitter.getBuffer(getOverflow())},
                 emitter.getState(State::Parameter, getParam()),
                 getLaunchAttributes(*this));
}

LogicalResult
AverageWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyParameter(*this, symbols, getParamAttr());
}

void AverageWeightOp::emitLaunches(LaunchEmitter &emitter) {
  Builder builder(getContext());
  WeightAverageAttr average = getAverage();
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  emitter.launch(
      "mfAverageWeight",
      {emitter.getBuffer(getStep()), emitter.getBuffer(getOverflow())},
      {emitter.getState(State::Parameter, getParam()),
       emitter.getState(State::Average, getParam())},
      builder.getDictionaryAttr(
          {number("interval", average.getInterval()),
           number("fused", average.getFused()),
           builder.getNamedAttr(
               "share",
               builder.getF64FloatAttr(average.getShare().convertToDouble())),
           builder.getNamedAttr("sums",
                                builder.getBoolAttr(average.getSums()))}));
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
  emitter.launch("mfUpdateExpertBias",
                 emitter.getState(State::Gradient, getParam()),
                 emitter.getState(State::Parameter, getParam()),
                 getLaunchAttributes(*this));
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

//===----------------------------------------------------------------------===//
// LogitFactorsOp
//===----------------------------------------------------------------------===//

LogicalResult LogitFactorsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param =
      symbols.lookupNearestSymbolFrom<ParamOp>(*this, getLargestAttr());
  if (!param || !param.keepsLargest())
    return emitOpError("expected a parameter with update_rule = "
                       "#mf.update_rule<largest>, but got '")
           << getLargest() << "'";
  int64_t rows = 0;
  for (auto size : getSizes().getAsRange<IntegerAttr>())
    rows += size.getInt();
  rows = rows * param.getStoredType().getNumElements() +
         static_cast<int64_t>(getRest());
  auto expected = RankedTensorType::get({rows}, Float32Type::get(getContext()));
  if (getSizes().size() == getRoots().size() && getType() == expected)
    return success();
  return emitOpError("expected a result of type ")
         << expected << " and as many roots as parts, but got " << getType()
         << " and " << getRoots();
}

void LogitFactorsOp::emitLaunches(LaunchEmitter &emitter) {
  NamedAttrList attributes;
  attributes.set("threshold", getThresholdAttr());
  attributes.set("sizes", getSizesAttr());
  attributes.set("roots", getRootsAttr());
  attributes.set("rest", getRestAttr());
  emitter.launch("mfLogitFactors",
                 {emitter.getState(State::Gradient, getLargest()),
                  emitter.getBuffer(getOverflow())},
                 emitter.createBuffer(getResult()),
                 attributes.getDictionary(getContext()));
}

//===----------------------------------------------------------------------===//
// ScaleRowsOp
//===----------------------------------------------------------------------===//

LogicalResult ScaleRowsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  auto type = cast<RankedTensorType>(getFactors().getType());
  if (param && param.getStoredType().getRank() == 2 &&
      type.getElementType().isF32() &&
      type.getShape() == param.getStoredType().getShape().take_front())
    return success();
  return emitOpError("expected a parameter that is a matrix, and a factor in "
                     "fp32 for each of its rows, but got '")
         << getParam() << "' and " << type;
}

void ScaleRowsOp::emitLaunches(LaunchEmitter &emitter) {
  emitter.launch("mfScaleRows", emitter.getBuffer(getFactors()),
                 emitter.getState(State::Parameter, getParam()));
}
