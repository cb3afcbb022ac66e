//===- VariantPlanner.cpp - Plans for one pipeline ------------------------===//

#include "planner/VariantPlanner.h"
#include "mf/Config/MemorySize.h"
#include "mf/Plan/NoPlanError.h"
#include "planner/Errors.h"
#include "planner/LayerGraphs.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

/// So many sets of recomputed operators are told apart, beside all and none.
static constexpr size_t numSelections = 5;
/// So many plans are compiled at most to mend what the costs have wrong.
static constexpr int mostRounds = 8;

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

VariantPlanner::VariantPlanner(const PlanRequest &request,
                               const PlanClock &clock, std::string yaml,
                               std::vector<ModelLayer> layers,
                               int64_t limitBytes)
    : request(request), clock(clock), yaml(std::move(yaml)),
      compiler(request.input, this->yaml, request.target) {
  context.layers = std::move(layers);
  context.limitBytes = limitBytes;
  compiler.makeSettings = [this](const Assignment &assignment) {
    return dropKept(makeSettings(assignment, shape.stages, context.layers,
                                 context.treatments),
                    this->request.keep);
  };
}

Error VariantPlanner::prepare() {
  Expected<PipelineShape> read =
      readShape(request.input, yaml, context.layers.size());
  if (!read)
    return read.takeError();
  shape = std::move(*read);
  if (shape.pieces > 1)
    return llvm::createStringError(
        "steps with seq_split_num above 1 cannot be planned: the pieces of a "
        "sequence cost differently; set their lists by hand, or plan without "
        "it");
  Expected<schedule::Schedule> schedule = shape.buildSchedule();
  if (!schedule)
    return schedule.takeError();
  context.schedule = std::move(*schedule);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

Error VariantPlanner::learn() {
  context.treatments = {makeNoTreatment(context.getNumKinds())};
  clock.report("compiling without recompute");
  Assignment nothing;
  nothing.layersOfChunk = shape.layers;
  nothing.treatments.assign(context.layers.size(), 0);
  Expected<CompiledAssignment> kept =
      compiler.compile(nothing, PlanEffort::Quick);
  if (!kept)
    return kept.takeError();
  ++compiledSteps;
  Expected<std::vector<LayerGraph>> graphs =
      buildLayerGraphs(kept->step, request.target);
  if (!graphs)
    return graphs.takeError();
  const target::HostLink &host = request.target.host;
  const KeptSettings &keep = request.keep;
  context.treatments = makeTreatments(
      *graphs, context.layers, keep.selectRecompute ? 0 : numSelections,
      keep.swap
          ? CopyRates()
          : CopyRates{host.toHostBytesPerSecond, host.toDeviceBytesPerSecond});
  const std::vector<Assignment> probes =
      makeProbes(context, shape.layers, keep.offset);
  clock.report(
      llvm::formatv("compiling {0} ways to treat layers", probes.size()).str());
  Expected<std::vector<Observation>> measured = compiler.measure(probes);
  if (!measured)
    return measured.takeError();
  observations = std::move(*measured);
  numProbes = observations.size();
  compiledSteps += static_cast<int64_t>(probes.size());
  areCostsOwn = true;
  return Error::success();
}

void VariantPlanner::borrow(const VariantPlanner &other) {
  context.treatments = other.context.treatments;
  costs = other.costs;
}

/// Takes over what the user keeps.
Error VariantPlanner::fixKept(plan::Problem &made) const {
  if (request.keep.offset)
    made.fixedLayers = shape.layers;
  if (!request.keep.recompute)
    return Error::success();
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
  made.fixedTreatments.resize(context.treatments.size());
  for (size_t index = 0; index < context.treatments.size(); ++index)
    if (context.treatments[index].isFull)
      for (const std::vector<int64_t> &row : *settings->recompute)
        made.fixedTreatments[index].insert(made.fixedTreatments[index].end(),
                                           row.begin(), row.end());
  return Error::success();
}

Expected<plan::Problem> VariantPlanner::buildProblem() {
  if (areCostsOwn)
    costs = fitCosts(context, observations);
  plan::Problem made = makeProblem(context, *costs);
  restSeconds = 0;
  if (!observations.empty()) {
    const Observation &last = observations.back();
    correctPeaks(context, last, made);
    restSeconds = last.measure.seconds -
                  plan::evaluate(made, toPlan(context, last.assignment)).time;
  }
  made.forbidden = forbidden;
  if (Error error = fixKept(made))
    return error;
  return made;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

bool VariantPlanner::fits(const StepMeasure &measure) const {
  return llvm::all_of(measure.stages, [&](const StageMeasure &stage) {
    return stage.peakBytes <= context.limitBytes;
  });
}

bool VariantPlanner::mayFit(const StepMeasure &measure) const {
  return llvm::all_of(measure.stages, [&](const StageMeasure &stage) {
    return stage.liveBytes <= context.limitBytes;
  });
}

bool VariantPlanner::isTried(const Assignment &assignment) const {
  return llvm::any_of(llvm::drop_begin(observations, numProbes),
                      [&](const Observation &observation) {
                        return observation.assignment == assignment;
                      });
}

/// What does not fit is not chosen again.
void VariantPlanner::forbid(const plan::Plan &plan,
                            const StepMeasure &measure) {
  const schedule::Pipeline &pipeline = context.schedule.pipeline;
  for (size_t stage = 0; stage < measure.stages.size(); ++stage) {
    if (measure.stages[stage].peakBytes <= context.limitBytes)
      continue;
    plan::ForbiddenStage entry;
    entry.stage = static_cast<int64_t>(stage);
    for (size_t chunk = 0; chunk < plan.chunks.size(); ++chunk)
      if (pipeline.stageOfChunk[chunk] == entry.stage)
        entry.chunks.push_back(plan.chunks[chunk]);
    forbidden.push_back(std::move(entry));
  }
}

Error VariantPlanner::compilePlan(const plan::Plan &plan,
                                  const Assignment &assignment,
                                  PlanEffort effort) {
  Expected<CompiledAssignment> compiled = compiler.compile(assignment, effort);
  if (!compiled)
    return compiled.takeError();
  ++compiledSteps;
  Expected<StepMeasure> measure = measureStep(compiled->step, request.target);
  if (!measure)
    return measure.takeError();
  observations.push_back({assignment, *measure});
  current = CompiledPlan{std::move(compiled->settings),
                         std::move(compiled->yaml), std::move(*measure), plan};
  return Error::success();
}

/// A quick plan that does not fit says nothing, unless it cannot fit.
Error VariantPlanner::tryPlan(const plan::Plan &plan,
                              const Assignment &assignment) {
  if (Error error = compilePlan(plan, assignment, PlanEffort::Quick))
    return error;
  if (!fits(current.measure) && mayFit(current.measure))
    if (Error error = compilePlan(plan, assignment, PlanEffort::Full))
      return error;
  const bool doesFit = fits(current.measure);
  clock.report(llvm::formatv("compiled a plan of {0:f3} s{1}",
                             current.measure.seconds,
                             doesFit ? "" : ", which does not fit")
                   .str());
  if (!doesFit)
    forbid(plan, current.measure);
  else if (!best || current.measure.seconds < best->measure.seconds) {
    modelSeconds = result.time;
    best = std::move(current);
  }
  return Error::success();
}

/// Plans the memory of the best as mf-opt does. False if it does not fit so.
Expected<bool> VariantPlanner::confirmBest() {
  if (!best || best->measure.isExact)
    return true;
  if (Error error =
          compilePlan(best->plan, toAssignment(best->plan), PlanEffort::Full))
    return error;
  if (fits(current.measure)) {
    best = std::move(current);
    return true;
  }
  forbid(best->plan, current.measure);
  best.reset();
  return false;
}

/// That nothing fits is what getBest() says.
static Error skipNoPlan(Error error) {
  return llvm::handleErrors(std::move(error), [](const plan::NoPlanError &) {});
}

/// Solves with what is known so far; true if there is a plan that was not
/// compiled yet.
Expected<bool> VariantPlanner::solveNext(double cutoff) {
  Expected<plan::Problem> made = buildProblem();
  if (!made)
    return made.takeError();
  problem = std::move(*made);
  plan::SolveOptions options;
  options.timeLimit = std::max(1.0, clock.getSecondsLeft() / 3);
  options.stop = request.stop;
  options.cutoff = cutoff;
  clock.report("solving");
  Expected<plan::SolveResult> solved = plan::solve(problem, options);
  if (!solved) {
    if (Error error = skipNoPlan(solved.takeError()))
      return error;
    return false;
  }
  result = std::move(*solved);
  return result.plan && !isTried(toAssignment(*result.plan));
}

Error VariantPlanner::search(double cutoff) {
  for (int round = 0; round < mostRounds && !clock.isOver(); ++round) {
    Expected<bool> isNew = solveNext(cutoff);
    if (!isNew)
      return isNew.takeError();
    if (*isNew) {
      if (Error error = tryPlan(*result.plan, toAssignment(*result.plan)))
        return error;
      continue;
    }
    Expected<bool> isConfirmed = confirmBest();
    if (!isConfirmed)
      return isConfirmed.takeError();
    if (*isConfirmed)
      return Error::success();
  }
  return confirmBest().takeError();
}

double VariantPlanner::getBoundSeconds() const {
  if (!result.plan)
    return 0;
  return result.bound + restSeconds;
}

Error VariantPlanner::makeNoPlanError() const {
  if (clock.isOver())
    return llvm::make_error<plan::NoPlanError>(
        "the search ended before it compiled a plan that fits; give it more "
        "time");
  int64_t least = std::numeric_limits<int64_t>::max();
  size_t nearest = 0;
  for (const Observation &observation : observations) {
    int64_t missing = 0;
    size_t at = 0;
    for (size_t stage = 0; stage < observation.measure.stages.size(); ++stage) {
      const int64_t own =
          observation.measure.stages[stage].peakBytes - context.limitBytes;
      if (own > missing) {
        missing = own;
        at = stage;
      }
    }
    if (missing < least) {
      least = missing;
      nearest = at;
    }
  }
  std::string text =
      "no settings fit into " + describeMemorySize(context.limitBytes);
  // What was compiled to learn costs may fit.
  if (least > 0)
    text += ": stage " + std::to_string(nearest) +
            " of the nearest that was compiled misses " +
            describeMemorySize(least) +
            "; give it more stages, ranks that share more, or smaller "
            "micro-batches";
  return llvm::make_error<plan::NoPlanError>(text);
}
