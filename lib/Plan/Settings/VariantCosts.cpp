//===- VariantCosts.cpp - What layers cost in one pipeline ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/VariantCosts.h"
#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include "mf/Support/DiagnosticError.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

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
    input.schedule = schedule.str();
  input.recomputeTasks |= recomputeTasks;
  context.layers = std::move(layers);
  context.limitBytes = limitBytes;
  compiler.isOver = [this] { return this->request.isStopped(); };
  compiler.makeSettings = [this](const Assignment &assignment) {
    return dropKept(makeSettings(assignment, context.schedule.pipeline,
                                 context.layers, context.treatments),
                    this->request.keep);
  };
}

Error VariantCosts::prepare() {
  Expected<PipelineShape> read = readShape(input, yaml, context.layers.size());
  if (!read)
    return read.takeError();
  shape = std::move(*read);
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
  for (Assignment &probe : probes)
    probe = keepRecomputed(std::move(probe));
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
