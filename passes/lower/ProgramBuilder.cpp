//===- ProgramBuilder.cpp - One stage's ascend program --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/ProgramBuilder.h"
#include "dialects/mf/DiscardableAttributes.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::BufferType;
using ascend::Role;
using ascend::StaticOp;

/// Returns what the trainer holds on a stage; null if it was not counted.
static DictionaryAttr getTrainerMemory(ir::ModelOp model, int64_t stage) {
  ArrayAttr stages = model.getTrainerMemoryAttr();
  return stages ? cast<DictionaryAttr>(stages[stage]) : DictionaryAttr();
}

/// Returns the learning rate schedule as one dictionary, for the runner.
static DictionaryAttr getLrSchedule(ir::LrScheduleAttr schedule) {
  NamedAttrList attributes(schedule.getParameters());
  attributes.set("type", schedule.getType());
  return attributes.getDictionary(schedule.getContext());
}

static DictionaryAttr getLossScaleSettings(ir::TrainingAttr training) {
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

llvm::StringSet<> mf::passes::getTrainedParameters(ir::ModelOp model,
                                                   int64_t stage) {
  llvm::StringSet<> trained;
  for (auto backward :
       model.getBody().getOps<ir::GradientFunctionOpInterface>())
    if (backward.getPlacement().getStage() == stage)
      for (auto name : backward.getGradients().getAsRange<FlatSymbolRefAttr>())
        trained.insert(name.getValue());
  return trained;
}

std::string mf::passes::getHostReportName(StringRef quantity) {
  return ("host.report." + quantity).str();
}

std::string mf::passes::getHostName(Role role) {
  return ("host." + ascend::stringifyRole(role)).str();
}

std::string mf::passes::getStateName(ir::State state, StringRef parameter) {
  static constexpr StringLiteral prefixes[] = {"",
                                               "gradient.",
                                               "first_moment.",
                                               "second_moment.",
                                               "average.",
                                               "square_rows.",
                                               "square_columns.",
                                               "instability_rows.",
                                               "instability_columns.",
                                               "accumulated.",
                                               "gathered."};
  return (prefixes[static_cast<size_t>(state)] + parameter).str();
}

ProgramBuilder::ProgramBuilder(ir::ModelOp model, SymbolTable &modelSymbols,
                               ir::ScheduleOp schedule, int64_t inFlight,
                               bool fusesAccumulation)
    : model(model), modelSymbols(modelSymbols),
      stage(static_cast<int64_t>(schedule.getStage())), inFlight(inFlight),
      isAccumulationFused(fusesAccumulation), declarations(model.getContext()),
      routines(model.getContext()) {
  ir::TrainingAttr training = model.getTrainingAttr();
  runs = training.getParallel().getMicroBatches();
  microBatches = runs * training.getParallel().getCopies();
  addsUp = runs > 1 || training.getParallel().getSequencePieces() > 1;
  OpBuilder builder(model);
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  program = ascend::ProgramOp::create(
      builder, model.getLoc(),
      builder.getStringAttr("stage" + std::to_string(stage)), number(stage),
      number(microBatches), model.getMicroBatchSizeAttr(),
      model.getSequenceLengthAttr(), model.getVocabSizeAttr(),
      model.getPadTokenIdAttr(), model.getIgnoreIndexAttr(),
      getLrSchedule(training.getLrSchedule()), getLossScaleSettings(training),
      training.getMaxDeviceMemory() > 0 ? number(training.getMaxDeviceMemory())
                                        : IntegerAttr(),
      IntegerAttr(), IntegerAttr(), IntegerAttr(),
      getTrainerMemory(model, stage),
      training.getGraphKernelFusion() ? builder.getUnitAttr() : UnitAttr());
  Block &body = program.getBody().emplaceBlock();
  routines.setInsertionPointToEnd(&body);
  declarations.setInsertionPointToStart(&body);
  getStream(names::compute, ascend::StreamKind::Compute);

  trainedHere = getTrainedParameters(model, stage);
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

/// Returns the slice that a rank holds of the dimensions `dims` of a parameter;
/// null if it holds the whole.
static ascend::SliceAttr getSlice(ir::ParamOp param, ir::LayoutAttr layout,
                                  ArrayRef<int64_t> dims,
                                  RankedTensorType part) {
  SmallVector<int64_t> whole;
  for (int64_t dim : dims)
    whole.push_back(param.getTensorType().getDimSize(dim));
  if (!layout || part.getShape() == ArrayRef(whole))
    return {};
  SmallVector<ArrayAttr> axes;
  for (int64_t dim : dims)
    axes.push_back(cast<ArrayAttr>(layout.getCuts()[dim]));
  return ascend::SliceAttr::get(param.getContext(), whole, axes);
}

/// Returns the slice of a parameter that a rank holds; null if it holds the
/// whole.
static ascend::SliceAttr getSlice(ir::ParamOp param, ir::LayoutAttr layout,
                                  RankedTensorType part) {
  auto dims =
      llvm::to_vector(llvm::seq<int64_t>(0, param.getTensorType().getRank()));
  return getSlice(param, layout, dims, part);
}

/// Returns the axes of a group in the order of ranks.
static SmallVector<Attribute> getOrderedAxes(Operation *op, ArrayAttr axes) {
  SmallVector<Attribute> ordered;
  if (auto mesh = ir::MeshAttr::find(op))
    llvm::copy_if(
        mesh.getAxes(), std::back_inserter(ordered),
        [&](StringAttr axis) { return llvm::is_contained(axes, axis); });
  return ordered;
}

std::string mf::passes::getCoordinateName(Operation *op, ArrayAttr axes) {
  std::string name = "coordinate";
  for (Attribute axis : getOrderedAxes(op, axes))
    name += "." + cast<StringAttr>(axis).str();
  return name;
}

StaticOp ProgramBuilder::getCoordinate(ArrayAttr axes) {
  const SmallVector<Attribute> ordered = getOrderedAxes(model, axes);
  Builder builder(getContext());
  auto type = [&](int64_t size) {
    return RankedTensorType::get({size}, builder.getI32Type());
  };
  int64_t size = ir::getGroupSize(model, axes);
  ascend::SliceAttr slice;
  if (size > 1)
    slice = ascend::SliceAttr::get(getContext(), ArrayRef<int64_t>(size),
                                   builder.getArrayAttr(ordered));
  return getStatic(
      getCoordinateName(model, axes), getBufferType(type(1)), Role::Table, {},
      ir::InitAttr::get(getContext(), ir::InitKind::Coordinate, 1), {}, slice);
}

StringRef ProgramBuilder::getOwnerHere(ir::ParamOp param) const {
  std::optional<StringRef> owner = param.getTied();
  return owner && isTrainedHere(*owner) ? *owner : StringRef();
}

StaticOp ProgramBuilder::getState(ir::State state, StringRef parameter) {
  ir::ParamOp param = getParam(parameter);
  RankedTensorType stored = param.getStoredType();
  auto get = [&](Role role) {
    RankedTensorType type = ir::getStateType(param, state);
    return getStatic(getStateName(state, parameter), getBufferType(type), role,
                     parameter, {}, getOwnerHere(param),
                     getSlice(param, param.getStoredLayout(),
                              ir::getStateDims(param, state), type));
  };
  switch (state) {
  case ir::State::Gradient:
    return get(Role::Gradient);
  case ir::State::FirstMoment:
    return get(Role::FirstMoment);
  case ir::State::SecondMoment:
    return get(Role::SecondMoment);
  case ir::State::Average:
    return get(Role::Average);
  case ir::State::SquareRows:
  case ir::State::SquareColumns:
  case ir::State::InstabilityRows:
  case ir::State::InstabilityColumns:
    return get(Role::Factor);
  case ir::State::Accumulated:
    return getAccumulated(param);
  case ir::State::Parameter:
  case ir::State::Gathered:
    break;
  }
  if (StringRef owner = getOwnerHere(param); !owner.empty())
    return getState(state, owner);
  if (state == ir::State::Gathered && param.getGathered())
    return getGathered(param);
  return getStatic(parameter, getBufferType(stored),
                   param.getFrozen() ? Role::Table : Role::Parameter, parameter,
                   param.getInit(), param.getTied().value_or(StringRef()),
                   getSlice(param, param.getStoredLayout(), stored));
}

/// The reduced gradient has its own memory only if it is smaller.
StaticOp ProgramBuilder::getAccumulated(ir::ParamOp param) {
  StringRef parameter = param.getSymName();
  RankedTensorType type = param.getAccumulatedType();
  StaticOp sum =
      type == param.getStoredType()
          ? getState(ir::State::Gradient, parameter)
          : getStatic(getStateName(ir::State::Accumulated, parameter),
                      getBufferType(type), Role::Accumulated, parameter, {},
                      getOwnerHere(param),
                      getSlice(param, param.getAccumulatedLayout(), type));
  if (!llvm::is_contained(gradients, sum))
    gradients.push_back(sum);
  return sum;
}

StaticOp ProgramBuilder::getGathered(ir::ParamOp param) {
  StringRef parameter = param.getSymName();
  if (!llvm::is_contained(gathered, param))
    gathered.push_back(param);
  return getStatic(
      getStateName(ir::State::Gathered, parameter),
      getBufferType(param.getReadType()), Role::Gathered, parameter, {}, {},
      getSlice(param, param.getLayoutAttr(), param.getLocalType()));
}

static SmallVector<ir::ParamOp> sortAsInModel(ir::ModelOp model,
                                              ArrayRef<ir::ParamOp> params) {
  SmallVector<ir::ParamOp> ordered;
  for (auto param : model.getBody().getOps<ir::ParamOp>())
    if (llvm::is_contained(params, param))
      ordered.push_back(param);
  return ordered;
}

SmallVector<ir::ParamOp> ProgramBuilder::getGathered() const {
  return sortAsInModel(model, gathered);
}

StaticOp ProgramBuilder::getRounded(StringRef parameter, Type element) {
  ir::ParamOp param = getParam(parameter);
  if (StringRef owner = getOwnerHere(param); !owner.empty())
    return getRounded(owner, element);
  RankedTensorType stored = param.getStoredType();
  if (param.getFrozen() || element != ir::KeptType::find(param) ||
      element == stored.getElementType())
    return {};
  if (!llvm::is_contained(rounded, param))
    rounded.push_back(param);
  return getStatic(("rounded." + parameter).str(),
                   getBufferType(stored.clone(element)), Role::Rounded,
                   parameter, {}, {},
                   getSlice(param, param.getStoredLayout(), stored));
}

SmallVector<ir::ParamOp> ProgramBuilder::getRounded() const {
  return sortAsInModel(model, rounded);
}

std::optional<ir::UpdateRule>
ProgramBuilder::getUpdateRule(StringRef parameter) {
  ir::ParamOp param = getParam(parameter);
  return param ? param.getUpdateRule() : std::nullopt;
}

StaticOp ProgramBuilder::getReport(StringRef quantity, RankedTensorType type) {
  StaticOp report = getStatic(("report." + quantity).str(), getBufferType(type),
                              Role::Report, quantity);
  if (!llvm::is_contained(reports, report))
    reports.push_back(report);
  return report;
}

bool ProgramBuilder::hasRoutine(StringRef name) {
  return llvm::any_of(
      program.getBody().getOps<ascend::RoutineOp>(),
      [&](ascend::RoutineOp routine) { return routine.getSymName() == name; });
}

void ProgramBuilder::setParts(StringRef routine, RoutineParts made) {
  for (auto &entry : gradientPlaces)
    for (GradientPlace &place : entry.second) {
      if (place.routine != routine)
        continue;
      // Finds the last part that begins before the launch.
      const auto next = llvm::find_if(made.parts, [&](const RoutinePart &part) {
        return part.firstLaunch >= place.launches && part.firstLaunch > 0;
      });
      const RoutinePart &part = *std::prev(next);
      place = {part.name, place.launches - part.firstLaunch};
    }
  parts[routine] = std::move(made);
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
      UnitAttr(), UnitAttr(), ArrayAttr(), ArrayAttr());
  Block &body = routine.getBody().emplaceBlock();
  for (Type type : arguments)
    body.addArgument(type, model.getLoc());
  return routine;
}

namespace {

/// Records collectives between states, and whether anything else is emitted.
class ReductionRecorder : public ir::LaunchEmitter {
public:
  explicit ReductionRecorder(const ProgramBuilder &program)
      : program(program) {}

  ir::ParamOp getParam(StringRef parameter) override {
    return program.getParam(parameter);
  }
  ir::EmittedBuffer getState(ir::State state, StringRef) override {
    return ir::EmittedBuffer(&states[static_cast<size_t>(state)]);
  }
  void communicate(const ir::EmittedCollective &collective) override {
    std::optional<ir::State> input = findState(collective.input);
    std::optional<ir::State> output = findState(collective.output);
    isPlain &= input && output;
    if (isPlain)
      collectives.push_back({collective, *input, *output});
  }
  void launch(StringRef, ArrayRef<ir::EmittedBuffer>,
              ArrayRef<ir::EmittedBuffer>, DictionaryAttr) override {
    isPlain = false;
  }
  ir::EmittedBuffer getBuffer(Value) override { return {}; }
  ir::EmittedBuffer createBuffer(Value) override { return {}; }
  ir::EmittedBuffer createTemporary(RankedTensorType) override { return {}; }
  ir::EmittedBuffer getCoordinate(ArrayAttr) override { return {}; }
  ir::EmittedBuffer getReport(StringRef, RankedTensorType) override {
    return {};
  }
  ir::EmittedBuffer getPart(ir::EmittedBuffer, int64_t,
                            RankedTensorType) override {
    return {};
  }

  bool isPlain = true;
  SmallVector<StateCollective> collectives;

private:
  const ProgramBuilder &program;

  /// Returns the state that a buffer represents. Such a buffer has a handle to
  /// the state's index.
  std::optional<ir::State> findState(ir::EmittedBuffer buffer) const {
    for (const auto &[number, state] : llvm::enumerate(states))
      if (buffer.getHandle() == &state)
        return static_cast<ir::State>(number);
    return std::nullopt;
  }

  std::array<char, static_cast<size_t>(ir::State::Gathered) + 1> states{};
};

} // namespace

std::optional<SmallVector<StateCollective>>
mf::passes::findPlainReduction(const ProgramBuilder &program,
                               ir::ReduceGradientOp reduction) {
  if (program.getGradientPlaces(reduction.getParam()).empty())
    return std::nullopt;
  ReductionRecorder recorder(program);
  reduction.emitLaunches(recorder);
  if (!recorder.isPlain || recorder.collectives.empty())
    return std::nullopt;
  return std::move(recorder.collectives);
}
