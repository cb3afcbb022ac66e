//===- StepPlanner.cpp - The memory settings of a training YAML -----------===//

#include "planner/StepPlanner.h"
#include "mf/Config/MemorySize.h"
#include "mf/Plan/NoPlanError.h"
#include "planner/CostFit.h"
#include "planner/LayerGraphs.h"
#include "planner/PipelineShape.h"
#include "planner/Probes.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <limits>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

namespace {

/// So many sets of recomputed operators are told apart, beside all and none.
constexpr size_t numSelections = 5;
/// So many plans are compiled at most to mend what the costs have wrong.
constexpr int mostRounds = 8;

class Planning {
public:
  explicit Planning(const PlanRequest &request) : request(request) {}

  Expected<StepPlan> run();

private:
  using Clock = std::chrono::steady_clock;

  const PlanRequest &request;
  Clock::time_point begin = Clock::now();
  PlanContext context;
  std::vector<Observation> observations;
  /// Choices of stages that were compiled and do not fit.
  std::vector<plan::ForbiddenStage> forbidden;
  StepPlan answer;
  std::vector<int64_t> givenLayers;
  std::optional<AssignmentCompiler> compiler;

  double getSeconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  bool isOver() const {
    return (request.stop && *request.stop) || getSeconds() > request.timeLimit;
  }
  void report(const llvm::Twine &text) const {
    if (request.progress)
      request.progress(text.str());
  }

  Error readGiven();
  Error measureProbes();
  Error searchPlan();
  Error tryAssignment(const Assignment &assignment, const plan::Plan &plan);
  Error makeNothingFits() const;
  CopyRates getCopyRates() const {
    return {request.target.host.toHostBytesPerSecond,
            request.target.host.toDeviceBytesPerSecond};
  }
  bool fits(const StepMeasure &measure) const;
  bool isMeasured(const Assignment &assignment) const;
};

} // namespace

bool Planning::fits(const StepMeasure &measure) const {
  return llvm::all_of(measure.stages, [&](const StageMeasure &stage) {
    return stage.peakBytes <= answer.limitBytes;
  });
}

bool Planning::isMeasured(const Assignment &assignment) const {
  return llvm::any_of(observations, [&](const Observation &observation) {
    return observation.assignment == assignment;
  });
}

/// Compiles the YAML as it is.
Error Planning::readGiven() {
  report("compiling the given settings");
  Expected<CompiledStep> step = compileStep(request.input, request.yaml);
  if (!step)
    return step.takeError();
  Expected<PipelineShape> shape =
      readShape(request.input, request.yaml, step->layers.size());
  if (!shape)
    return shape.takeError();
  if (shape->pieces > 1)
    return llvm::createStringError(
        "seq_split_num above 1 cannot be planned: costs of the pieces of a "
        "sequence differ; plan without it, or set the lists by hand");
  Expected<schedule::Schedule> schedule = shape->buildSchedule();
  if (!schedule)
    return schedule.takeError();
  Expected<StepMeasure> measure = measureStep(step->program, request.target);
  if (!measure)
    return measure.takeError();
  context.schedule = std::move(*schedule);
  context.layers = std::move(step->layers);
  answer.limitBytes = request.limitBytes.value_or(shape->memoryLimit);
  context.limitBytes = answer.limitBytes;
  answer.given = std::move(*measure);
  answer.givenFits = fits(answer.given);
  answer.compiledSteps = 1;
  answer.isGiven = true;
  answer.best.yaml = request.yaml;
  answer.best.measure = answer.given;
  givenLayers = shape->layers;
  return Error::success();
}

/// What of the settings of an assignment may be written.
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

/// Learns what layers cost in every way to treat them.
Error Planning::measureProbes() {
  compiler.emplace(request.input, request.yaml, request.target);
  compiler->makeSettings = [this](const Assignment &assignment) {
    return dropKept(makeSettings(assignment, context.schedule.pipeline.stages,
                                 context.layers, context.treatments),
                    request.keep);
  };
  context.treatments = {makeNoTreatment(context.layers.size())};
  report("compiling without recompute");
  Assignment assignment;
  assignment.layersOfChunk = givenLayers;
  assignment.treatments.assign(context.layers.size(), 0);
  Expected<CompiledAssignment> kept = compiler->compile(assignment);
  if (!kept)
    return kept.takeError();
  ++answer.compiledSteps;
  Expected<std::vector<LayerGraph>> graphs =
      buildLayerGraphs(kept->step, request.target);
  if (!graphs)
    return graphs.takeError();
  context.treatments = makeTreatments(
      *graphs, context.layers, request.keep.selectRecompute ? 0 : numSelections,
      request.keep.swap ? CopyRates() : getCopyRates());
  const std::vector<Assignment> probes =
      makeProbes(context, givenLayers, request.keep.offset);
  report(llvm::formatv("compiling {0} ways to treat layers", probes.size()));
  Expected<std::vector<Observation>> measured = compiler->measure(probes);
  if (!measured)
    return measured.takeError();
  observations = std::move(*measured);
  answer.compiledSteps += static_cast<int64_t>(probes.size());
  return Error::success();
}

/// Compiles a plan; what does not fit is not chosen again.
Error Planning::tryAssignment(const Assignment &assignment,
                              const plan::Plan &plan) {
  Expected<CompiledAssignment> compiled = compiler->compile(assignment);
  if (!compiled)
    return compiled.takeError();
  ++answer.compiledSteps;
  Expected<StepMeasure> measure =
      measureStep(compiled->step.program, request.target);
  if (!measure)
    return measure.takeError();
  observations.push_back({assignment, *measure});
  const schedule::Pipeline &pipeline = context.schedule.pipeline;
  for (size_t stage = 0; stage < measure->stages.size(); ++stage) {
    if (measure->stages[stage].peakBytes <= answer.limitBytes)
      continue;
    plan::ForbiddenStage entry;
    entry.stage = static_cast<int64_t>(stage);
    for (size_t chunk = 0; chunk < plan.chunks.size(); ++chunk)
      if (pipeline.stageOfChunk[chunk] == entry.stage)
        entry.chunks.push_back(plan.chunks[chunk]);
    forbidden.push_back(std::move(entry));
  }
  report(llvm::formatv("compiled a plan of {0:f3} s{1}", measure->seconds,
                       fits(*measure) ? "" : " that does not fit"));
  const bool isFirst = answer.isGiven && !answer.givenFits;
  if (fits(*measure) &&
      (isFirst || measure->seconds < answer.best.measure.seconds)) {
    answer.best = {std::move(compiled->settings), std::move(compiled->yaml),
                   std::move(*measure), plan};
    answer.isGiven = false;
  }
  return Error::success();
}

Error Planning::makeNothingFits() const {
  const Observation *nearest = nullptr;
  int64_t least = std::numeric_limits<int64_t>::max();
  size_t worstStage = 0;
  for (const Observation &observation : observations) {
    int64_t missing = 0;
    size_t stage = 0;
    for (size_t index = 0; index < observation.measure.stages.size(); ++index) {
      const int64_t own =
          observation.measure.stages[index].peakBytes - answer.limitBytes;
      if (own > missing) {
        missing = own;
        stage = index;
      }
    }
    if (missing < least) {
      least = missing;
      nearest = &observation;
      worstStage = stage;
    }
  }
  (void)nearest;
  return llvm::make_error<plan::NoPlanError>(
      llvm::formatv("no settings fit into {0}: stage {1} misses {2} in the "
                    "nearest; more stages, more sharding or smaller "
                    "micro-batches are needed",
                    describeMemorySize(answer.limitBytes), worstStage,
                    describeMemorySize(least))
          .str());
}

Error Planning::searchPlan() {
  for (int round = 0; round < mostRounds && !isOver(); ++round) {
    answer.problem = fitCosts(context, observations);
    answer.problem.forbidden = forbidden;
    if (request.keep.offset)
      answer.problem.fixedLayers = givenLayers;
    plan::SolveOptions options;
    options.timeLimit = std::max(1.0, (request.timeLimit - getSeconds()) / 2);
    options.stop = request.stop;
    report(llvm::formatv("solving, round {0}", round + 1));
    Expected<plan::SolveResult> result = solve(answer.problem, options);
    if (!result) {
      if (answer.givenFits || !answer.isGiven) {
        consumeError(result.takeError());
        return Error::success();
      }
      return llvm::make_error<plan::NoPlanError>(toString(result.takeError()));
    }
    answer.result = std::move(*result);
    const Assignment assignment = toAssignment(context, *answer.result.plan);
    if (isMeasured(assignment))
      break;
    if (Error error = tryAssignment(assignment, *answer.result.plan))
      return error;
  }
  if (answer.isGiven && !answer.givenFits)
    return makeNothingFits();
  return Error::success();
}

Expected<StepPlan> Planning::run() {
  if (Error error = readGiven())
    return error;
  if (Error error = measureProbes())
    return error;
  if (Error error = searchPlan())
    return error;
  return std::move(answer);
}

Expected<StepPlan> planner::planStep(const PlanRequest &request) {
  return Planning(request).run();
}
