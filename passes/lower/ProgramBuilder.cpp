//===- ProgramBuilder.cpp - One stage's ascend program --------------------===//

#include "passes/lower/ProgramBuilder.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::BufferType;
using ascend::Role;
using ascend::StaticOp;

/// The learning rate schedule as one dictionary, for the runner.
static DictionaryAttr getLrSchedule(ir::LrScheduleAttr schedule) {
  NamedAttrList attributes(schedule.getParameters());
  attributes.set("type", schedule.getType());
  return attributes.getDictionary(schedule.getContext());
}

static DictionaryAttr getLossScale(ir::TrainingAttr training) {
  if (!training.scalesLoss())
    return {};
  Builder builder(training.getContext());
  NamedAttrList attributes;
  attributes.set("value", builder.getF64FloatAttr(
                              training.getLossScale().convertToDouble()));
  if (ir::LossScaleUpdateAttr update = training.getLossScaleUpdate()) {
    attributes.set("factor", builder.getI64IntegerAttr(update.getFactor()));
    attributes.set("window", builder.getI64IntegerAttr(update.getWindow()));
  }
  return attributes.getDictionary(training.getContext());
}

ProgramBuilder::ProgramBuilder(ir::ModelOp model, SymbolTable &modelSymbols,
                               ir::ScheduleOp schedule)
    : model(model), modelSymbols(modelSymbols), stage(schedule.getStage()),
      declarations(model.getContext()), routines(model.getContext()) {
  ir::TrainingAttr training = model.getTrainingAttr();
  microBatches = training.getParallel().getMicroBatches();
  OpBuilder builder(model);
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  program = ascend::ProgramOp::create(
      builder, model.getLoc(),
      builder.getStringAttr("stage" + std::to_string(stage)), number(stage),
      number(microBatches), model.getMicroBatchSizeAttr(),
      model.getSequenceLengthAttr(), model.getVocabSizeAttr(),
      model.getPadTokenIdAttr(), model.getIgnoreIndexAttr(),
      getLrSchedule(training.getLrSchedule()), getLossScale(training),
      training.getMaxDeviceMemory() > 0 ? number(training.getMaxDeviceMemory())
                                        : IntegerAttr(),
      IntegerAttr(), IntegerAttr(), IntegerAttr());
  Block &body = program.getBody().emplaceBlock();
  routines.setInsertionPointToEnd(&body);
  declarations.setInsertionPointToStart(&body);
  getStream(names::compute, ascend::StreamKind::Compute);

  for (auto backward :
       model.getBody().getOps<ir::GradientFunctionOpInterface>())
    if (backward.getPlacement().getStage() == stage)
      for (auto name : backward.getGradients().getAsRange<FlatSymbolRefAttr>())
        trainedHere[name.getValue()] = true;
}

BufferType ProgramBuilder::getBufferType(Type tensor, ascend::Space space) {
  if (auto host = dyn_cast<ir::HostType>(tensor))
    return BufferType::get(getContext(), host.getTensor(), ascend::Space::Host);
  return BufferType::get(getContext(), cast<RankedTensorType>(tensor), space);
}

BufferType ProgramBuilder::getScalarType() {
  return getBufferType(
      RankedTensorType::get({}, Float32Type::get(getContext())));
}

Operation *ProgramBuilder::declare(Operation *op) {
  if (lastDeclaration)
    op->moveAfter(lastDeclaration);
  lastDeclaration = op;
  return op;
}

StringRef ProgramBuilder::getStream(StringRef name, ascend::StreamKind kind) {
  auto [entry, isNew] = declared.try_emplace(name, nullptr);
  if (isNew)
    entry->second = declare(
        ascend::StreamOp::create(declarations, model.getLoc(), name, kind));
  return entry->first();
}

StaticOp ProgramBuilder::getStatic(StringRef name, BufferType type, Role role,
                                   StringRef of, Attribute init, StringRef tied,
                                   ascend::SliceAttr slice) {
  auto [entry, isNew] = declared.try_emplace(name, nullptr);
  if (isNew) {
    Builder builder(getContext());
    entry->second = declare(StaticOp::create(
        declarations, model.getLoc(), builder.getStringAttr(name),
        TypeAttr::get(type), ascend::RoleAttr::get(getContext(), role),
        of.empty() ? StringAttr() : builder.getStringAttr(of), init,
        tied.empty() ? FlatSymbolRefAttr()
                     : FlatSymbolRefAttr::get(getContext(), tied),
        slice, IntegerAttr()));
  }
  return cast<StaticOp>(entry->second);
}

/// The part of a parameter that a rank holds; null if it is the whole.
static ascend::SliceAttr getSlice(ir::ParamOp param) {
  ir::LayoutAttr layout = param.getLayoutAttr();
  if (!layout || param.getLocalType() == param.getTensorType())
    return {};
  auto axes = llvm::to_vector(layout.getCuts().getAsRange<ArrayAttr>());
  return ascend::SliceAttr::get(param.getContext(),
                                param.getTensorType().getShape(), axes);
}

StaticOp ProgramBuilder::getCoordinate(ArrayAttr axes) {
  // A group is in the order of ranks, whatever the order of its axes.
  SmallVector<Attribute> ordered;
  std::string name = "coordinate";
  if (auto mesh = ir::MeshAttr::find(model))
    for (StringAttr axis : mesh.getAxes())
      if (llvm::is_contained(axes, axis)) {
        ordered.push_back(axis);
        name += "." + axis.str();
      }
  Builder builder(getContext());
  auto type = [&](int64_t size) {
    return RankedTensorType::get({size}, builder.getI32Type());
  };
  int64_t size = ir::getGroupSize(model, axes).value_or(1);
  ascend::SliceAttr slice;
  if (size > 1)
    slice = ascend::SliceAttr::get(getContext(), ArrayRef<int64_t>(size),
                                   builder.getArrayAttr(ordered));
  return getStatic(name, getBufferType(type(1)), Role::Table, {},
                   ir::InitAttr::get(getContext(), ir::InitKind::Coordinate, 1),
                   {}, slice);
}

StaticOp ProgramBuilder::getState(ir::State state, StringRef parameter) {
  auto param = modelSymbols.lookup<ir::ParamOp>(parameter);
  BufferType type = getBufferType(param.getLocalType());
  auto wide =
      getBufferType(param.getLocalType().clone(Float32Type::get(getContext())));
  ascend::SliceAttr slice = getSlice(param);
  switch (state) {
  case ir::State::Gradient: {
    size_t before = declared.size();
    StaticOp gradient = getStatic(("gradient." + parameter).str(), type,
                                  Role::Gradient, parameter, {}, {}, slice);
    if (declared.size() != before)
      gradients.push_back(gradient);
    return gradient;
  }
  case ir::State::FirstMoment:
    return getStatic(("first_moment." + parameter).str(), wide,
                     Role::FirstMoment, parameter, {}, {}, slice);
  case ir::State::SecondMoment:
    return getStatic(("second_moment." + parameter).str(), wide,
                     Role::SecondMoment, parameter, {}, {}, slice);
  case ir::State::Parameter:
    break;
  }
  std::optional<StringRef> owner = param.getTied();
  if (owner && isTrainedHere(*owner))
    return getState(state, *owner);
  return getStatic(parameter, type,
                   param.getFrozen() ? Role::Table : Role::Parameter, parameter,
                   param.getInit(), owner.value_or(StringRef()), slice);
}

StaticOp ProgramBuilder::getReport(StringRef quantity) {
  if (!llvm::is_contained(reports, quantity))
    reports.push_back(quantity.str());
  return getStatic(("report." + quantity).str(), getScalarType(), Role::Report,
                   quantity);
}

int64_t ProgramBuilder::countLaunches(StringRef routine) {
  auto [entry, isNew] = launchCounts.try_emplace(routine, 0);
  if (isNew)
    for (auto op : program.getBody().getOps<ascend::RoutineOp>())
      if (op.getSymName() == routine)
        entry->second =
            std::distance(op.getBody().getOps<ascend::LaunchOp>().begin(),
                          op.getBody().getOps<ascend::LaunchOp>().end());
  return entry->second;
}

ascend::RoutineOp ProgramBuilder::createRoutine(StringRef name,
                                                ArrayRef<Type> arguments,
                                                FlatSymbolRefAttr layout) {
  Builder builder(getContext());
  auto routine = ascend::RoutineOp::create(
      routines, model.getLoc(), builder.getStringAttr(name),
      TypeAttr::get(builder.getFunctionType(arguments, {})), layout, UnitAttr(),
      ArrayAttr(), ArrayAttr());
  Block &body = routine.getBody().emplaceBlock();
  for (Type type : arguments)
    body.addArgument(type, model.getLoc());
  return routine;
}
