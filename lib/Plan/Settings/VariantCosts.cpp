//===- VariantCosts.cpp - What layers cost in one pipeline ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/VariantCosts.h"
#include "lib/Plan/Settings/RecomputeCut.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include "mf/Plan/Solver/Solver.h"
#include "mf/Program/StepTasks.h"
#include "mf/Support/Diagnostic.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>
#include <map>
#include <optional>
#include <tuple>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Layers of a compiled step as graphs
//===----------------------------------------------------------------------===//

namespace {

/// The name of an operator of a layer, and whether its communication is meant.
using OperatorName = std::pair<std::string, bool>;

/// The place at which a layer of some kind is computed.
struct LayerSite {
  size_t stage = 0;
  /// A forward of its chunk.
  program::StepTask forward;
  std::string layer;
};

const program::Call *getCall(const program::StageProgram &stage,
                             uint32_t position) {
  return stage.step.getCall(stage.step.instructions[position]);
}

/// Gathers the graph of one layer from a forward of its chunk. In a pair the
/// forward may have several calls.
class GraphBuilder {
public:
  GraphBuilder(const program::Program &program,
               const program::StageProgram &stage, llvm::StringRef layer,
               const CellTree &names,
               const std::map<std::string, std::map<bool, double>> &seconds)
      : program(program), stage(stage), prefix((layer + ".").str()),
        names(names), seconds(seconds) {}

  LayerGraph build(const program::StepTask &forward) {
    for (const uint32_t position : forward.calls) {
      const program::InstructionList &list =
          stage.routines[getCall(stage, position)->routine].body;
      for (const program::Instruction &instruction : list.instructions)
        if (llvm::StringRef(instruction.cell).starts_with(prefix) &&
            (instruction.work == program::Work::Kernel ||
             instruction.work == program::Work::Exchange))
          add(instruction, list, position);
    }
    for (LayerGraph::Operator &op : graph.operators) {
      const CellTree::Entry *entry = names.find(op.name);
      op.mayRepeat = entry && !entry->isCell;
    }
    freeGathered();
    return std::move(graph);
  }

private:
  /// A buffer of the step or of one of its calls: the kind, the position of the
  /// call if it is a temporary of one, and the index.
  using BufferKey =
      std::tuple<program::BufferKind, std::optional<uint32_t>, uint32_t>;

  const program::Program &program;
  const program::StageProgram &stage;
  std::string prefix;
  const CellTree &names;
  const std::map<std::string, std::map<bool, double>> &seconds;
  LayerGraph graph;
  std::map<OperatorName, size_t> operators;
  std::map<BufferKey, size_t> values;

  size_t getOperator(const program::Instruction &instruction) {
    const bool isCommunication = instruction.work == program::Work::Exchange;
    const std::string name = instruction.cell.substr(prefix.size());
    auto [found, isNew] =
        operators.try_emplace({name, isCommunication}, graph.operators.size());
    if (isNew) {
      LayerGraph::Operator op;
      op.name = name;
      op.isCommunication = isCommunication;
      if (auto times = seconds.find(instruction.cell); times != seconds.end())
        if (auto time = times->second.find(isCommunication);
            time != times->second.end())
          op.seconds = time->second;
      graph.operators.push_back(std::move(op));
    }
    return found->second;
  }

  BufferKey getKey(const program::Buffer &buffer, uint32_t position) const {
    using program::BufferKind;
    if (buffer.kind == BufferKind::Argument)
      return {buffer.kind, std::nullopt,
              getCall(stage, position)->arguments[buffer.index].buffer};
    const bool isShared =
        buffer.kind == BufferKind::Static || buffer.kind == BufferKind::Slot;
    return {buffer.kind,
            isShared ? std::nullopt : std::optional<uint32_t>(position),
            buffer.index};
  }

  size_t getValue(const program::Buffer &of, uint32_t position) {
    auto [found, isNew] =
        values.try_emplace(getKey(of, position), graph.values.size());
    if (isNew) {
      LayerGraph::Value value;
      value.bytes = of.bytes;
      value.isNeeded = of.kind == program::BufferKind::Slot;
      value.isFree = of.kind == program::BufferKind::Static;
      graph.values.push_back(std::move(value));
    }
    return found->second;
  }

  /// Frees the values that operators without a name compute from parameters
  /// alone, such as a gathered weight, unless backward reads the value of
  /// forward: backward then computes them again, whatever the settings are.
  void freeGathered() {
    std::vector<bool> isOfParameters;
    for (const LayerGraph::Value &value : graph.values)
      isOfParameters.push_back(value.isFree);
    for (size_t index = 0; index < graph.operators.size(); ++index) {
      const LayerGraph::Operator &op = graph.operators[index];
      if (!llvm::all_of(op.inputs,
                        [&](size_t input) { return isOfParameters[input]; }))
        continue;
      for (size_t at = 0; at < graph.values.size(); ++at) {
        LayerGraph::Value &value = graph.values[at];
        if (!llvm::is_contained(value.producers, index))
          continue;
        isOfParameters[at] = true;
        value.isFree |= !op.mayRepeat && !value.isNeeded;
      }
    }
  }

  void add(const program::Instruction &instruction,
           const program::InstructionList &list, uint32_t position) {
    const size_t op = getOperator(instruction);
    if (instruction.work == program::Work::Kernel &&
        program.kernels[instruction.index].signature->kind == "grouped_matmul")
      graph.experts = op;
    for (const program::MemoryAccess &access : instruction.accesses) {
      const size_t value =
          getValue(list.buffers[access.operand.buffer], position);
      if (readsMemory(access.access) &&
          !llvm::is_contained(graph.values[value].producers, op))
        graph.operators[op].inputs.push_back(value);
      if (writesMemory(access.access) &&
          !llvm::is_contained(graph.values[value].producers, op))
        graph.values[value].producers.push_back(op);
    }
  }
};

/// Finds the layer to examine for each kind. If possible it is not the first of
/// its chunk, so that its input is a value like any other.
class SiteFinder {
public:
  explicit SiteFinder(llvm::ArrayRef<ModelLayer> layers) {
    size_t numKinds = 0;
    for (const ModelLayer &layer : layers) {
      kinds[layer.name] = layer.kind;
      numKinds = std::max(numKinds, layer.kind + 1);
    }
    sites.resize(numKinds);
    isInner.resize(numKinds);
  }

  void add(size_t stage, const program::StageProgram &code,
           const program::StepTask &forward) {
    std::string first;
    for (const uint32_t position : forward.calls)
      for (const program::Instruction &instruction :
           code.routines[getCall(code, position)->routine].body.instructions) {
        const auto kind = findLayer(instruction.cell);
        if (kind == kinds.end())
          continue;
        if (first.empty())
          first = kind->first;
        const bool inner = kind->first != first;
        LayerSite &site = sites[kind->second];
        if (!site.layer.empty() && (!inner || isInner[kind->second]))
          continue;
        site = {stage, forward, kind->first};
        isInner[kind->second] = inner;
      }
  }
  std::vector<LayerSite> take() { return std::move(sites); }

private:
  /// The kinds of layers, by name.
  std::map<std::string, size_t> kinds;
  std::vector<LayerSite> sites;
  std::vector<bool> isInner;

  /// Returns the layer of a cell. The name of a layer may itself contain dots.
  std::map<std::string, size_t>::const_iterator
  findLayer(llvm::StringRef cell) const {
    for (size_t dot = cell.find('.'); dot != llvm::StringRef::npos;
         dot = cell.find('.', dot + 1))
      if (auto kind = kinds.find(cell.take_front(dot).str());
          kind != kinds.end())
        return kind;
    return kinds.end();
  }
};

} // namespace

static Expected<std::vector<LayerSite>> findSites(const CompiledStep &step) {
  SiteFinder finder(step.layers);
  for (size_t stage = 0; stage < step.program.stages.size(); ++stage) {
    const program::StageProgram &code = step.program.stages[stage];
    Expected<std::vector<program::StepTask>> tasks = program::findTasks(code);
    if (!tasks)
      return tasks.takeError();
    for (const program::StepTask &task : *tasks)
      if (task.phase == schedule::Phase::Forward)
        finder.add(stage, code, task);
  }
  return finder.take();
}

/// For each operator, separately for itself and its communication, returns the
/// time in a forward in seconds.
static std::map<std::string, std::map<bool, double>>
sumForward(const timeline::StepTimeline &timeline, size_t stage) {
  std::map<std::string, std::map<bool, double>> seconds;
  const timeline::StageTimeline &own = timeline.stages[stage];
  for (const timeline::StreamTimeline &stream : own.streams)
    for (const timeline::Span &span : stream.spans) {
      if (span.task < 0)
        continue;
      const timeline::TaskSpan &task =
          own.tasks[static_cast<size_t>(span.task)];
      const timeline::Activity &activity = timeline.activities[span.activity];
      if (task.phase != schedule::Phase::Forward || task.microBatch != 0 ||
          (activity.category != timeline::Category::Kernel &&
           activity.category != timeline::Category::Collective))
        continue;
      seconds[activity.cell]
             [activity.category == timeline::Category::Collective] +=
          span.end - span.start;
    }
  return seconds;
}

/// Returns the forward of one layer of each kind: the values that its operators
/// read and write, their times on the target, and the values that backward
/// needs. `step` must recompute nothing, because recomputed values look as if
/// they had no readers.
static Expected<std::vector<LayerGraph>>
buildLayerGraphs(const CompiledStep &step,
                 const timeline::StepTimeline &timeline) {
  Expected<std::vector<LayerSite>> sites = findSites(step);
  if (!sites)
    return sites.takeError();
  std::vector<LayerGraph> graphs;
  for (const LayerSite &site : *sites) {
    const std::map<std::string, std::map<bool, double>> seconds =
        sumForward(timeline, site.stage);
    auto names = step.names.find(site.layer);
    graphs.push_back(
        GraphBuilder(step.program, step.program.stages[site.stage], site.layer,
                     names == step.names.end() ? CellTree() : names->second,
                     seconds)
            .build(site.forward));
  }
  return graphs;
}

//===----------------------------------------------------------------------===//
// What layers cost in one pipeline
//===----------------------------------------------------------------------===//

/// The number of sets of recomputed operators that are distinguished, in
/// addition to all and none.
static constexpr size_t numSelections = 5;

/// Returns the settings of an assignment without those that the user keeps.
static MemorySettings dropKept(MemorySettings settings,
                               const KeptSettings &keep) {
  if (keep.offset)
    settings.offset.reset();
  if (keep.recompute)
    settings.recompute.reset();
  if (keep.selectRecompute)
    settings.selectRecompute.reset();
  if (keep.selectCommRecompute)
    settings.selectCommRecompute.reset();
  if (keep.swap)
    settings.swap.reset();
  return settings;
}

VariantCosts::VariantCosts(const PlanRequest &request, std::string yaml,
                           std::vector<ModelLayer> layers, int64_t limitBytes,
                           llvm::StringRef schedule, bool recomputeTasks)
    : request(request), input(request.input), yaml(std::move(yaml)),
      compiler(input, this->yaml, request.target) {
  if (!schedule.empty())
    input.lowering.schedule = schedule.str();
  input.lowering.recomputeTasks |= recomputeTasks;
  context.layers = std::move(layers);
  context.limitBytes = limitBytes;
  compiler.isOver = [this] { return this->request.isStopped(); };
  compiler.makeSettings = [this](const Assignment &assignment) {
    return dropKept(makeSettings(assignment, context.schedule.pipeline,
                                 context.layers, context.numFollowers,
                                 context.treatments),
                    this->request.keep);
  };
}

Error VariantCosts::prepare() {
  Expected<PipelineShape> read = readShape(input, yaml, context.layers.size());
  if (!read)
    return read.takeError();
  shape = std::move(*read);
  context.numFollowers = static_cast<size_t>(shape.numFollowers);
  if (Error error = shape.checkPieces())
    return error;
  Expected<schedule::Schedule> schedule = shape.buildSchedule();
  if (!schedule)
    return schedule.takeError();
  context.schedule = std::move(*schedule);
  return request.keep.recompute ? readKept() : Error::success();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Returns an assignment without recompute and swap, whose treatment is the
/// last one.
Assignment
VariantCosts::makeUntreated(llvm::ArrayRef<int64_t> layersOfChunk) const {
  Assignment assignment;
  assignment.layersOfChunk = layersOfChunk.vec();
  assignment.treatments.assign(context.layers.size(),
                               context.treatments.size() - 1);
  return assignment;
}

Expected<CompiledAssignment>
VariantCosts::compile(const Assignment &assignment) {
  Expected<CompiledAssignment> compiled =
      compiler.compile(assignment, PlanEffort::Quick);
  if (compiled)
    ++compiledSteps;
  return compiled;
}

Expected<StepMeasure> VariantCosts::measureUntreated() {
  context.treatments = {makeNoTreatment(context.getNumKinds())};
  request.report("compiling without recompute");
  Expected<CompiledAssignment> compiled = compile(makeUntreated(shape.layers));
  if (!compiled)
    return compiled.takeError();
  simulator::SimulationOptions options;
  options.withMemory = false;
  options.withCriticalPath = false;
  options.withPeakContents = false;
  options.withSensitivity = false;
  Expected<timeline::StepTimeline> timeline =
      simulator::simulate(compiled->step.program, request.target, options);
  if (!timeline)
    return timeline.takeError();
  Expected<std::vector<LayerGraph>> built =
      buildLayerGraphs(compiled->step, *timeline);
  if (!built)
    return built.takeError();
  graphs = std::move(*built);
  return measureStep(compiled->step, *timeline);
}

LayerWords VariantCosts::getWords() const {
  DiagnosticList ignored;
  const Node document = parseYaml(yaml, request.input.fileName, ignored);
  return hasDynamicSections(document) ? LayerWords::Modules
                                      : LayerWords::Operators;
}

/// Chooses the treatments of layers by their graphs.
void VariantCosts::chooseTreatments() {
  const target::HostLink &host = request.target.host;
  const KeptSettings &keep = request.keep;
  const LayerWords words = getWords();
  // Releases before MindSpore 2.11 refuse swap on several stages of the dynamic
  // graph.
  const bool maySwap =
      !keep.swap && (words == LayerWords::Operators || shape.stages == 1);
  context.treatments = makeTreatments(
      graphs, context.layers, keep.selectRecompute ? 0 : numSelections,
      maySwap
          ? CopyRates{host.toHostBytesPerSecond, host.toDeviceBytesPerSecond}
          : CopyRates(),
      words,
      request.expertLevels && !keep.selectRecompute &&
          words == LayerWords::Operators);
}

Error VariantCosts::learn() {
  std::optional<StepMeasure> untreated;
  if (graphs.empty()) {
    Expected<StepMeasure> measure = measureUntreated();
    if (!measure)
      return measure.takeError();
    untreated = std::move(*measure);
  }
  chooseTreatments();
  std::vector<Assignment> probes =
      makeProbes(context, shape.layers, request.keep.offset);
  for (Assignment &probe : probes) {
    probe = keepRecomputed(std::move(probe));
    context.treatFollowers(probe);
  }
  request.report(
      llvm::formatv("compiling {0} steps that treat layers", probes.size())
          .str());
  Expected<std::vector<LayerObservation>> measured = compiler.measure(probes);
  if (!measured)
    return measured.takeError();
  if (measured->empty())
    return makeNoPlanError({});
  observations = std::move(*measured);
  numProbes = observations.size();
  // With a probe for each treatment, each kind of layer gets each treatment,
  // and the step without recompute shows nothing new.
  if (untreated && probes.size() < context.treatments.size())
    observeUntreated(*untreated);
  compiledSteps += static_cast<int64_t>(probes.size());
  areCostsOwn = true;
  costs = fitCosts(context, observations);
  return Error::success();
}

Error VariantCosts::learnUntreated(
    llvm::ArrayRef<std::vector<int64_t>> numbers) {
  Expected<StepMeasure> first = measureUntreated();
  if (!first)
    return first.takeError();
  chooseTreatments();
  observeUntreated(*first);
  for (const std::vector<int64_t> &layersOfChunk : numbers) {
    if (layersOfChunk == shape.layers)
      continue;
    const Assignment assignment = makeUntreated(layersOfChunk);
    Expected<CompiledAssignment> compiled = compile(assignment);
    if (!compiled)
      return compiled.takeError();
    Expected<StepMeasure> measure =
        measureStep(compiled->step, request.target, /*withCriticalPath=*/false);
    if (!measure)
      return measure.takeError();
    observe(assignment, *measure);
  }
  costs = fitCosts(context, observations);
  costs->transient = TransientCosts();
  return Error::success();
}

bool VariantCosts::costsLike(const VariantCosts &other) const {
  return shape.batchSize == other.shape.batchSize &&
         shape.recomputeTasks == other.shape.recomputeTasks &&
         context.schedule.splitsBackward ==
             other.context.schedule.splitsBackward;
}

void VariantCosts::borrow(const VariantCosts &other) {
  context.treatments = other.context.treatments;
  costs = other.costs;
}

void VariantCosts::observeUntreated(const StepMeasure &measure) {
  observations.push_back({makeUntreated(shape.layers), measure});
  ++numProbes;
}

/// Fixes the settings that the user keeps.
void VariantCosts::fixKept(solver::Problem &made) const {
  if (request.keep.offset)
    made.fixedLayers = shape.layers;
  if (!request.keep.recompute)
    return;
  made.fixedTreatments.resize(context.treatments.size());
  for (size_t index = 0; index < context.treatments.size(); ++index)
    if (context.treatments[index].isFull)
      made.fixedTreatments[index] = keptRecompute;
}

/// Reads which layers of each chunk the YAML recomputes.
Error VariantCosts::readKept() {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(yaml, request.input.fileName, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  Expected<MemorySettings> settings = readSettings(config);
  if (!settings)
    return settings.takeError();
  if (!settings->recompute)
    return llvm::createStringError(
        "--keep=recompute: the layers that the YAML recomputes are not the "
        "first ones of their stages");
  keptRecompute = fromTable(*settings->recompute, context.schedule.pipeline);
  return Error::success();
}

Assignment VariantCosts::keepRecomputed(Assignment assignment) const {
  size_t layer = 0;
  for (size_t chunk = 0; chunk < keptRecompute.size(); ++chunk)
    for (int64_t index = 0; index < assignment.layersOfChunk[chunk];
         ++index, ++layer) {
      size_t &treatment = assignment.treatments[layer];
      if (index < keptRecompute[chunk])
        treatment =
            static_cast<size_t>(llvm::find_if(context.treatments,
                                              [](const LayerTreatment &one) {
                                                return one.isFull;
                                              }) -
                                context.treatments.begin());
      else if (context.treatments[treatment].isFull)
        treatment = context.treatments.size() - 1;
    }
  return assignment;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// Returns the largest share that a pair may hide such that the step compiled
/// last would not be shorter than it is. Before a step was compiled, the longer
/// task of a pair is taken to hide all of the other.
double VariantCosts::fitHidden(solver::Problem problem) const {
  constexpr int64_t parts = 100;
  if (problem.schedule.pairs.empty())
    return 0;
  int64_t least = 0, most = parts;
  while (!observations.empty() && least < most) {
    const LayerObservation &last = observations.back();
    const int64_t tried = (least + most + 1) / 2;
    problem.pairHidden = static_cast<double>(tried) / parts;
    if (solver::evaluate(problem, toPlan(context, last.assignment)).time >=
        last.measure.seconds)
      least = tried;
    else
      most = tried - 1;
  }
  return static_cast<double>(most) / parts;
}

CostedProblem VariantCosts::makeProblem() {
  if (areCostsOwn)
    costs = fitCosts(context, observations);
  CostedProblem made;
  made.problem = planner::makeProblem(context, *costs);
  made.problem.pairHidden = fitHidden(made.problem);
  if (!observations.empty()) {
    const LayerObservation &last = observations.back();
    correctPeaks(context, observations, numProbes, made.problem);
    made.restSeconds =
        last.measure.seconds -
        solver::evaluate(made.problem, toPlan(context, last.assignment)).time;
  }
  fixKept(made.problem);
  return made;
}

Error VariantCosts::makeNoPlanError(const StepMeasure &given) const {
  if (request.isStopped())
    return llvm::make_error<solver::NoPlanError>(
        "the search ended before it compiled a plan that fits; give it more "
        "time");
  llvm::SmallVector<const StepMeasure *> compiled = {&given};
  for (const LayerObservation &observation : observations)
    compiled.push_back(&observation.measure);
  return planner::makeNoPlanError(compiled, context.limitBytes);
}

Error planner::makeNoPlanError(llvm::ArrayRef<const StepMeasure *> compiled,
                               int64_t limitBytes) {
  const StepMeasure *nearest = nullptr;
  auto getMissing = [&](const StepMeasure *measure) {
    return measure->stages[measure->findFullest()].getMissingBytes(limitBytes);
  };
  for (const StepMeasure *measure : compiled)
    if (!measure->stages.empty() &&
        (!nearest || getMissing(measure) < getMissing(nearest)))
      nearest = measure;
  std::string text = "no offset, recompute and swap fit into " +
                     describeMemorySize(limitBytes);
  // A step that was compiled to learn costs may fit.
  if (nearest && getMissing(nearest) > 0)
    text += ": stage " + std::to_string(nearest->findFullest()) +
            " of the nearest that was compiled misses " +
            describeMemorySize(getMissing(nearest));
  return llvm::make_error<solver::NoPlanError>(text);
}
