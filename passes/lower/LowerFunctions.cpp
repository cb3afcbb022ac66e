//===- LowerFunctions.cpp - Functions of a model to routines --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/LowerFunctions.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "passes/lower/RoutineBuilder.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

/// Returns the values of the chunk that the first arguments of a routine hold
/// (mf/Program/Certificate.h).
template <typename FunctionT>
static Attribute getTaken(FunctionT function, const ChunkFunctions &chunk,
                          ArrayRef<int64_t> gradients) {
  ir::ForwardOp forward = chunk.forward;
  const auto numGradients =
      static_cast<int64_t>(forward.getGradientTypes().size());
  SmallVector<int64_t> taken(gradients);
  auto append = [&](ArrayAttr numbers, int64_t first, auto getNumber) {
    for (auto number : numbers.getAsRange<IntegerAttr>())
      taken.push_back(first + getNumber(number.getInt()));
  };
  append(function.getForwardArguments(), numGradients,
         [](int64_t number) { return number; });
  // Forward passes on outputs that are not losses.
  if constexpr (!std::is_same_v<FunctionT, ir::BackwardWeightsOp>)
    append(function.getForwardOutputs(),
           numGradients + static_cast<int64_t>(forward.getNumArguments()),
           [&](int64_t number) {
             return number -
                    llvm::count_if(forward.getOutputTypes().take_front(number),
                                   ir::isLoss);
           });
  return DenseI64ArrayAttr::get(forward.getContext(), taken);
}

/// Returns the certificate of a chunk (mf/Program/Certificate.h) with the
/// values that the first arguments of its routines hold; null if it has none.
static DictionaryAttr getCertificate(const ChunkFunctions &chunk) {
  ir::ForwardOp forward = chunk.forward;
  auto computes =
      forward->getAttrOfType<DictionaryAttr>(ir::certificateAttribute);
  if (!computes)
    return {};
  NamedAttrList taken;
  SmallVector<int64_t> none, all, some;
  if (ir::RecomputeOp recompute = chunk.recompute)
    taken.set(recompute.getSymName(), getTaken(recompute, chunk, none));
  if (ir::BackwardOp backward = chunk.backward) {
    for (int64_t i = 0; i < static_cast<int64_t>(backward.getOutputs()); ++i)
      all.push_back(i);
    taken.set(backward.getSymName(), getTaken(backward, chunk, all));
  }
  if (ir::BackwardWeightsOp weights = chunk.weights) {
    for (auto number : weights.getOutputGradients().getAsRange<IntegerAttr>())
      some.push_back(number.getInt());
    taken.set(weights.getSymName(), getTaken(weights, chunk, some));
  }
  NamedAttrList entries(computes);
  if (!taken.empty())
    entries.set("taken", taken.getDictionary(forward.getContext()));
  return entries.getDictionary(forward.getContext());
}

std::string mf::passes::getLayoutName(StringRef forward) {
  forward.consume_back(".forward");
  return (forward + ".residuals").str();
}

/// Returns a static fp32 scalar.
static ascend::StaticOp getScalar(ProgramBuilder &program, StringRef name,
                                  ascend::Role role) {
  return program.getStatic(name, program.getScalarType(), role);
}

/// Returns the static to which losses are added, all of them or those of one
/// part.
static ascend::StaticOp getLossSum(ProgramBuilder &program,
                                   StringRef part = names::loss) {
  return getScalar(program, part, ascend::Role::Constant);
}

/// Returns the parts of the stage's losses that are reported apart.
static SmallVector<ir::LossPart> getLossParts(ProgramBuilder &program) {
  return ir::getLossParts(program.getModel(), program.getStage());
}

ascend::StaticOp mf::passes::getLossScale(ProgramBuilder &program) {
  return getScalar(program, "loss_scale", ascend::Role::LossScale);
}

ascend::StaticOp mf::passes::getScaledGradient(ProgramBuilder &program) {
  return getScalar(program, "loss_gradient", ascend::Role::Constant);
}

/// Makes `value` available at `target`. Its operator writes it there if
/// possible; otherwise it is copied.
static void placeOutput(RoutineBuilder &routine, Value value, Value target) {
  Value root = ir::getViewedValue(value);
  if (routine.setStorage(root, target))
    return;
  routine.callAfter(root, [&routine, value, root, target] {
    routine.launch(
        "aclnnInplaceCopy",
        routine.getReshaped(routine.getBuffer(root), value.getType()), target);
  });
}

/// Returns the name of the operator whose result a slot keeps.
static StringRef getCellName(Value residual) {
  if (auto offload = residual.getDefiningOp<ir::OffloadOp>())
    return offload.getName().value_or("");
  auto op = residual.getDefiningOp<ir::ComputeOpInterface>();
  return op ? op.getCellName() : "";
}

static void createLayout(ProgramBuilder &program, const ChunkFunctions &chunk,
                         ir::ForwardOp first, ArrayRef<Value> slots) {
  ir::ForwardOp forward = chunk.forward;
  OpBuilder builder(program.getProgram());
  builder.setInsertionPointToEnd(&program.getProgram().getBody().front());
  SmallVector<Attribute> types, cells;
  for (Value slot : slots) {
    types.push_back(TypeAttr::get(program.getBufferType(slot.getType())));
    cells.push_back(builder.getStringAttr(getCellName(slot)));
  }
  ascend::FrameLayoutOp::create(
      builder, forward.getLoc(),
      builder.getStringAttr(getLayoutName(forward.getSymName())),
      builder.getArrayAttr(types), builder.getArrayAttr(cells),
      DenseI64ArrayAttr(), DenseI64ArrayAttr(), IntegerAttr(), IntegerAttr(),
      getCertificate(chunk),
      first ? FlatSymbolRefAttr::get(builder.getContext(),
                                     getLayoutName(first.getSymName()))
            : FlatSymbolRefAttr());
}

/// Makes a routine of `function` on frames of `forward`. It has the arguments
/// that a task passes and one for each of `results`.
static ascend::RoutineOp createRoutine(ProgramBuilder &program,
                                       FunctionOpInterface function,
                                       ir::ForwardOp forward, TypeRange passed,
                                       ValueRange results) {
  SmallVector<Type> arguments;
  for (Type type : passed)
    arguments.push_back(program.getBufferType(type));
  for (Type type : results.getTypes())
    arguments.push_back(program.getBufferType(type));
  return program.createRoutine(
      function.getName(), arguments,
      FlatSymbolRefAttr::get(program.getContext(),
                             getLayoutName(forward.getSymName())));
}

LogicalResult mf::passes::lowerForward(ProgramBuilder &program,
                                       const ChunkFunctions &chunk,
                                       ir::ForwardOp first,
                                       ArrayRef<bool> addsLoss) {
  ir::ForwardOp forward = chunk.forward;
  Block &body = forward.getBody().front();
  ValueRange results = ir::getReturn(forward).getValues();
  ValueRange outputs = results.take_front(forward.getOutputs());
  ValueRange residuals = results.drop_front(forward.getOutputs());
  SmallVector<Value> slots(residuals);
  if (ir::RecomputeOp recompute = chunk.recompute)
    llvm::append_range(slots, ir::getReturn(recompute).getValues());
  if (ir::BackwardOp backward = chunk.backward)
    llvm::append_range(slots, ir::getReturn(backward).getValues().take_back(
                                  backward.getKept()));
  createLayout(program, chunk, first, slots);

  SmallVector<Value> handedOn;
  for (auto [output, isAdded] : llvm::zip_equal(outputs, addsLoss))
    if (!isAdded)
      handedOn.push_back(output);
  ascend::RoutineOp op = createRoutine(program, forward, forward,
                                       forward.getArgumentTypes(), handedOn);
  Block &routineBody = op.getBody().front();

  RoutineBuilder routine(program, op);
  for (BlockArgument argument : body.getArguments())
    routine.bind(argument, routineBody.getArgument(argument.getArgNumber()));
  for (auto [index, residual] : llvm::enumerate(residuals)) {
    if (isa<ir::HostType>(residual.getType()))
      routine.setHostSlot(residual, static_cast<int64_t>(index));
    else
      routine.setStorage(residual, routine.getSlot(static_cast<int64_t>(index),
                                                   residual.getType()));
  }
  unsigned argument = forward.getNumArguments();
  SmallVector<ir::LossPart> parts = ir::findLossParts(forward);
  size_t loss = 0;
  for (auto [output, isAdded] : llvm::zip_equal(outputs, addsLoss)) {
    if (!isAdded) {
      placeOutput(routine, output, routineBody.getArgument(argument++));
      continue;
    }
    StringRef part = loss < parts.size() ? parts[loss].name.getValue() : "";
    ++loss;
    routine.callAfter(output, [&, output = output, part] {
      routine.launch("aclnnInplaceAdd", routine.getBuffer(output),
                     routine.getGlobal(getLossSum(program)));
      if (!part.empty())
        routine.launch("aclnnInplaceAdd", routine.getBuffer(output),
                       routine.getGlobal(getLossSum(program, part)));
    });
  }
  return routine.lower(body);
}

/// Returns the value from which a gradient is converted, if the converted value
/// has no other reader.
static Value getUnconverted(Value value) {
  auto conversion = ir::getViewedValue(value).getDefiningOp<ir::CastOp>();
  if (!conversion || !conversion.getResult().hasOneUse())
    return {};
  Value root = ir::getViewedValue(conversion.getInput());
  return root.getDefiningOp() ? root : Value();
}

/// Adds `value` to a gradient, or stores it as the gradient.
static void placeGradient(ProgramBuilder &program, RoutineBuilder &routine,
                          Value value, StringRef parameter) {
  Value gradient = routine.getState(ir::State::Accumulated, parameter);
  if (!program.addsGradients())
    return placeOutput(routine, value, gradient);
  // This is done right after the operator that makes the value, so that the
  // value does not stay live.
  Value root = ir::getViewedValue(value);
  auto type = cast<RankedTensorType>(value.getType());
  const std::optional<ir::UpdateRule> rule = program.getUpdateRule(parameter);
  if (Value unconverted = getUnconverted(value);
      unconverted && program.fusesAccumulation() &&
      rule.value_or(ir::UpdateRule::Balance) == ir::UpdateRule::Balance) {
    routine.skip(root.getDefiningOp());
    root = unconverted;
    type = type.clone(getElementTypeOrSelf(unconverted.getType()));
  }
  routine.callAfter(
      root, [&program, &routine, type, root, gradient, parameter, rule] {
        Value own = routine.getReshaped(routine.getBuffer(root), type);
        if (rule == ir::UpdateRule::Largest)
          routine.launch("aclnnMaximum", {own, gradient}, gradient);
        else
          routine.launch(rule == ir::UpdateRule::Record ? "aclnnInplaceCopy"
                                                        : "aclnnInplaceAdd",
                         own, gradient);
        program.addGradientPlace(
            parameter, {routine.getName().str(), routine.getNumLaunches()});
      });
}

/// Binds the values that a task passes to the routine's first arguments, and
/// the values after them to the slots of the frame.
static void bindArguments(RoutineBuilder &routine, Block &body,
                          Block &routineBody, size_t numPassed) {
  for (auto [index, argument] : llvm::enumerate(body.getArguments())) {
    if (index < numPassed)
      routine.bind(argument, routineBody.getArgument(index));
    else if (isa<ir::HostType>(argument.getType()))
      routine.setHostSlot(argument, static_cast<int64_t>(index - numPassed));
    else if (!argument.use_empty())
      routine.bind(argument,
                   routine.getSlot(static_cast<int64_t>(index - numPassed),
                                   argument.getType()));
  }
}

static void placeGradients(ProgramBuilder &program, RoutineBuilder &routine,
                           ArrayAttr names, ArrayRef<Value> values) {
  for (auto [name, value] :
       llvm::zip_equal(names.getAsRange<FlatSymbolRefAttr>(), values))
    placeGradient(program, routine, value, name.getValue());
}

LogicalResult mf::passes::lowerRecompute(ProgramBuilder &program,
                                         const ChunkFunctions &chunk) {
  ir::RecomputeOp recompute = chunk.recompute;
  Block &body = recompute.getBody().front();
  const size_t numPassed = recompute.getPassedTypes().size();
  ascend::RoutineOp op = createRoutine(program, recompute, chunk.forward,
                                       recompute.getPassedTypes(), {});
  op.setRecomputes(true);
  RoutineBuilder routine(program, op);
  bindArguments(routine, body, op.getBody().front(), numPassed);
  const size_t numResiduals = body.getNumArguments() - numPassed;
  for (auto [index, value] :
       llvm::enumerate(ir::getReturn(recompute).getValues()))
    placeOutput(routine, value,
                routine.getSlot(static_cast<int64_t>(numResiduals + index),
                                value.getType()));
  return routine.lower(body);
}

LogicalResult mf::passes::lowerBackward(ProgramBuilder &program,
                                        const ChunkFunctions &chunk) {
  ir::BackwardOp backward = chunk.backward;
  Block &body = backward.getBody().front();
  ValueRange results = ir::getReturn(backward).getValues();
  size_t numPassed = backward.getPassedTypes().size();
  ValueRange inputGradients =
      results.take_front(backward.getInputGradientTypes().size());
  ValueRange kept = results.take_back(backward.getKept());
  ascend::RoutineOp op =
      createRoutine(program, backward, chunk.forward, backward.getPassedTypes(),
                    inputGradients);
  Block &routineBody = op.getBody().front();

  RoutineBuilder routine(program, op);
  bindArguments(routine, body, routineBody, numPassed);
  for (auto [index, value] : llvm::enumerate(inputGradients))
    placeOutput(routine, value, routineBody.getArgument(numPassed + index));
  const size_t numResiduals = backward.getResidualTypes().size();
  for (auto [index, value] : llvm::enumerate(kept))
    placeOutput(routine, value,
                routine.getSlot(static_cast<int64_t>(numResiduals + index),
                                value.getType()));
  auto gradients = llvm::to_vector(
      results.drop_front(inputGradients.size()).drop_back(kept.size()));
  placeGradients(program, routine, backward.getGradients(), gradients);
  return routine.lower(body, gradients);
}

LogicalResult mf::passes::lowerBackwardWeights(ProgramBuilder &program,
                                               const ChunkFunctions &chunk) {
  ir::BackwardWeightsOp weights = chunk.weights;
  Block &body = weights.getBody().front();
  ascend::RoutineOp op = createRoutine(program, weights, chunk.forward,
                                       weights.getPassedTypes(), {});
  RoutineBuilder routine(program, op);
  bindArguments(routine, body, op.getBody().front(),
                weights.getPassedTypes().size());
  auto gradients = llvm::to_vector(ir::getReturn(weights).getValues());
  placeGradients(program, routine, weights.getGradients(), gradients);
  return routine.lower(body, gradients);
}

/// Lowers the reductions of gradients over ranks. Work other than collectives
/// that the step issues forms a separate routine, after which gradients are
/// those of the step.
static LogicalResult
lowerReductions(ProgramBuilder &program,
                llvm::iterator_range<Block::iterator> reductions) {
  SmallVector<Operation *> launching;
  for (Operation &op : reductions)
    if (!findPlainReduction(program, cast<ir::ReduceGradientOp>(op)))
      launching.push_back(&op);
  if (launching.empty())
    return success();
  RoutineBuilder routine(program, program.createRoutine(names::reduce, {}));
  return routine.lower(launching);
}

LogicalResult mf::passes::lowerUpdate(ProgramBuilder &program,
                                      ir::UpdateOp update) {
  Block &body = update.getBody().front();
  auto operators = body.without_terminator();
  auto first = llvm::find_if_not(
      operators, [](Operation &op) { return isa<ir::ReduceGradientOp>(op); });
  if (failed(lowerReductions(program, {operators.begin(), first})))
    return failure();
  SmallVector<Type> arguments;
  for (Type type : update.getArgumentTypes())
    arguments.push_back(program.getBufferType(type));
  ascend::RoutineOp op = program.createRoutine(names::update, arguments);
  op.setUpdatesParameters(true);
  RoutineBuilder routine(program, op);
  for (BlockArgument argument : body.getArguments())
    routine.bind(argument,
                 op.getBody().front().getArgument(argument.getArgNumber()));
  SmallVector<Operation *> rest;
  for (Operation &op : llvm::make_range(first, operators.end()))
    rest.push_back(&op);
  return routine.lower(rest);
}

static DictionaryAttr getFactor(FloatAttr factor) {
  Builder builder(factor.getContext());
  return builder.getDictionaryAttr(builder.getNamedAttr("value", factor));
}

bool mf::passes::buildBegin(ProgramBuilder &program, bool hasLoss,
                            FloatAttr gradient) {
  bool zeroesGradients =
      program.addsGradients() && !program.getGradients().empty();
  SmallVector<ir::ParamOp> gathered = program.getGathered();
  for (ir::ParamOp param : gathered)
    program.getRounded(param.getSymName(),
                       param.getReadType().getElementType());
  SmallVector<ir::ParamOp> rounded = program.getRounded();
  if (!zeroesGradients && !hasLoss && !gradient && gathered.empty() &&
      rounded.empty())
    return false;
  RoutineBuilder routine(program, program.createRoutine(names::begin, {}));
  for (ir::ParamOp param : rounded)
    routine.round(param);
  for (ir::ParamOp param : gathered)
    routine.gather(param);
  if (hasLoss) {
    routine.launch("aclnnInplaceZero", {},
                   routine.getGlobal(getLossSum(program)));
    for (const ir::LossPart &part : getLossParts(program))
      routine.launch("aclnnInplaceZero", {},
                     routine.getGlobal(getLossSum(program, part.name)));
  }
  if (zeroesGradients)
    for (ascend::StaticOp buffer : program.getGradients())
      routine.launch("aclnnInplaceZero", {}, routine.getGlobal(buffer));
  if (gradient)
    routine.launch("aclnnMuls", routine.getGlobal(getLossScale(program)),
                   routine.getGlobal(getScaledGradient(program)),
                   getFactor(gradient));
  routine.finish();
  return true;
}

void mf::passes::buildFinish(ProgramBuilder &program) {
  RoutineBuilder routine(program, program.createRoutine(names::finish, {}));
  Builder builder(program.getContext());
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  const auto runs = static_cast<double>(program.getMicroBatches());
  auto report = [&](StringRef part, double unit) {
    routine.launch("aclnnMuls", routine.getGlobal(getLossSum(program, part)),
                   routine.getReport(part, scalar),
                   getFactor(builder.getF64FloatAttr(1.0 / (runs * unit))));
  };
  report(names::loss, 1.0);
  for (const ir::LossPart &part : getLossParts(program))
    report(part.name, part.unit.getValueAsDouble());
}
