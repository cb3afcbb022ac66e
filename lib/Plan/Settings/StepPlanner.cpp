//===- StepPlanner.cpp - The memory settings of a training YAML -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/StepPlanner.h"
#include "lib/Plan/Settings/ArenaPlans.h"
#include "lib/Plan/Settings/VariantSearch.h"
#include "mf/Frontend/Config/PipelineSchedulers.h"
#include "mf/Frontend/Config/StageMap.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Plan/Settings/Layout.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/FormatVariadic.h"
#include <future>
#include <memory>

using namespace mf;
using namespace mf::planner;
using llvm::Error;
using llvm::Expected;

/// Returns the settings of a pipeline with the same global batch, given the
/// samples of a step.
static MemorySettings makePipeline(const PipelineShape &own, int64_t interleave,
                                   int64_t microBatches) {
  MemorySettings settings;
  settings.interleave = interleave;
  settings.microBatches = microBatches;
  settings.batchSize = own.batchSize * own.microBatches / microBatches;
  if (interleave != own.interleave) {
    settings.offset = dealLayersEvenly(own.numCounted, own.stages, interleave);
    settings.recompute =
        StageTable(static_cast<size_t>(interleave),
                   std::vector<int64_t>(static_cast<size_t>(own.stages)));
    settings.selectRecompute.emplace();
    settings.selectCommRecompute.emplace();
  }
  return settings;
}

/// Returns `first` and then the others, without duplicates.
template <typename Value>
static std::vector<Value> prepend(Value first, const std::vector<Value> &rest) {
  std::vector<Value> all;
  all.push_back(std::move(first));
  for (const Value &value : rest)
    if (!llvm::is_contained(all, value))
      all.push_back(value);
  return all;
}

/// Returns whether the schedule, or the YAML's own if the name is empty, has
/// recompute tasks in any case.
static bool separatesRecompute(llvm::StringRef schedule,
                               const PipelineShape &own) {
  const llvm::StringRef name = schedule.empty() ? own.schedule : schedule;
  return llvm::cantFail(schedule::findPolicy(name))->separatesRecompute();
}

namespace {

/// Plans a YAML. Pipelines whose micro-batches have the same size share the
/// learned costs of layers.
class Planning {
public:
  explicit Planning(const PlanRequest &request) : request(request) {}

  Expected<PlanAnswer> run() {
    if (Error error = readGiven())
      return error;
    Error own = preferGiven(addOwnVariant());
    if (!answer.isGiven)
      return own;
    refineGiven();
    if (Error error = keepGiven(std::move(own)))
      return error;
    if (answer.isCutShort)
      return std::move(answer);
    if (Error error = addVariants())
      return error;
    if (Error error = search())
      return error;
    return std::move(answer);
  }

private:
  const PlanRequest &request;
  PlanAnswer answer;
  std::vector<ModelLayer> layers;
  std::vector<std::unique_ptr<PlanVariant>> variants;

  /// The measure of the unchanged YAML, whose arenas are planned quickly.
  std::future<Expected<StepMeasure>> given;
  std::vector<memory::StepProblem> givenArenas;
  /// Plans the arenas of the unchanged YAML with full effort, and returns the
  /// text of its error. Only the answer needs that, so it runs concurrently
  /// with the search, which mostly uses one thread.
  std::future<std::string> refined;

  /// Reads the YAML, and starts to compile it without changes.
  Error readGiven() {
    request.report("compiling the given settings");
    Expected<std::vector<ModelLayer>> read =
        readLayers(request.input, request.yaml);
    if (!read)
      return read.takeError();
    layers = std::move(*read);
    Expected<PipelineShape> shape =
        readShape(request.input, request.yaml, layers.size());
    // A YAML that cannot be planned is not compiled.
    if (shape)
      if (Error error = shape->checkPieces())
        return error;
    given = std::async(std::launch::async, [this] { return measureGiven(); });
    if (!shape)
      return preferGiven(shape.takeError());
    answer.limitBytes = request.limitBytes.value_or(shape->memoryLimit);
    return Error::success();
  }

  Expected<StepMeasure> measureGiven() {
    Expected<CompiledStep> step =
        compileStep(request.input, request.yaml, PlanEffort::Quick);
    if (!step)
      return step.takeError();
    givenArenas = std::move(step->arenas);
    return measureStep(*step, request.target);
  }

  /// Returns the error of the unchanged YAML if there is one, because `error`
  /// then follows from it.
  Error preferGiven(Error error) {
    if (Error first = takeGiven()) {
      llvm::consumeError(std::move(error));
      return first;
    }
    return error;
  }

  /// Stores the measure of the unchanged YAML in the answer.
  Error takeGiven() {
    Expected<StepMeasure> measure = given.get();
    if (!measure)
      return measure.takeError();
    answer.given = std::move(*measure);
    answer.compiledSteps = 1;
    answer.isGiven = true;
    return Error::success();
  }

  void refineGiven() {
    refined = std::async(std::launch::async, [this] {
      return toString(refineArenas(request.input, givenArenas, answer.given,
                                   /*numThreads=*/1));
    });
  }

  /// Waits for the peaks of the unchanged YAML, which is the best step until
  /// another is taken.
  Error finishGiven() {
    if (!refined.valid())
      return Error::success();
    if (const std::string error = refined.get(); !error.empty())
      return llvm::createStringError(error);
    answer.givenFits = answer.given.fits(answer.limitBytes);
    answer.best.yaml = request.yaml;
    answer.best.measure = answer.given;
    return Error::success();
  }

  Error addOwnVariant() {
    variants.push_back(std::make_unique<PlanVariant>(
        request, request.yaml, layers, answer.limitBytes,
        /*schedule=*/"", /*recomputeTasks=*/false));
    if (Error error = variants.front()->costs.prepare())
      return error;
    return variants.front()->costs.learn();
  }

  /// Keeps the given step as the best one if the search was stopped before a
  /// plan was found. Returns any other error.
  Error keepGiven(Error error) {
    return llvm::handleErrors(
        std::move(error),
        [&](std::unique_ptr<solver::NoPlanError> none) -> Error {
          if (Error failed = finishGiven())
            return failed;
          if (!answer.givenFits)
            return Error(std::move(none));
          answer.isCutShort = true;
          return Error::success();
        });
  }

  /// Adds everything that may be tried in addition to the YAML's own pipeline,
  /// at the same global batch.
  Error addVariants() {
    const PipelineShape own = variants.front()->costs.getShape();
    const int64_t samples = own.batchSize * own.microBatches;
    for (const std::string &schedule :
         prepend(std::string(), request.schedules))
      for (const int64_t microBatches :
           prepend(own.microBatches, request.microBatches))
        for (const int64_t interleave : findChunks(schedule, microBatches)) {
          const bool isOwn =
              (schedule.empty() ||
               getScheduleName(schedule, interleave) == own.schedule) &&
              interleave == own.interleave && microBatches == own.microBatches;
          if (request.isStopped()) {
            if (!isOwn)
              leaveOut(schedule, interleave, microBatches,
                       "the search was stopped");
            continue;
          }
          if (samples % microBatches != 0) {
            leaveOut(
                schedule, interleave, microBatches,
                llvm::formatv(
                    "{0} samples are no {1} micro-batches of the same size",
                    samples, microBatches)
                    .str());
            continue;
          }
          const bool mayAddTasks =
              request.recomputeTasks && !separatesRecompute(schedule, own);
          for (const bool hasTasks : {false, true})
            if (hasTasks ? mayAddTasks : !isOwn)
              if (Error error =
                      addVariant(schedule, interleave, microBatches, hasTasks))
                return error;
        }
    return Error::success();
  }

  /// Adds a pipeline to try in addition to the YAML's own, unless it is
  /// impossible. An empty name stands for the YAML's schedule.
  Error addVariant(llvm::StringRef schedule, int64_t interleave,
                   int64_t microBatches, bool recomputeTasks) {
    MemorySettings settings = makePipeline(variants.front()->costs.getShape(),
                                           interleave, microBatches);
    llvm::StringRef unnamed;
    if (!schedule.empty()) {
      // A schedule may have different names with one and with several chunks
      // per stage.
      const llvm::StringRef scheduler = getSchedulerOf(
          schedule == "interleaved" ? llvm::StringRef("1f1b") : schedule);
      settings.scheduler = scheduler.str();
      ParallelConfig named;
      named.pipelineStage = variants.front()->costs.getShape().stages;
      named.pipelineScheduler = scheduler.str();
      if (getScheduleName(getScheduleName(named), interleave) !=
          getScheduleName(schedule, interleave))
        unnamed = schedule;
    }
    Expected<std::string> yaml =
        applySettings(request.yaml, request.input.fileName, settings);
    if (!yaml)
      return yaml.takeError();
    auto variant = std::make_unique<PlanVariant>(request, std::move(*yaml),
                                                 layers, answer.limitBytes,
                                                 unnamed, recomputeTasks);
    if (Error error = variant->costs.prepare()) {
      leaveOut(schedule, interleave, microBatches, toString(std::move(error)));
      return Error::success();
    }
    for (const std::unique_ptr<PlanVariant> &other : variants)
      if (variant->costs.costsLike(other->costs)) {
        variant->costs.borrow(other->costs);
        variants.push_back(std::move(variant));
        return Error::success();
      }
    if (Error error = variant->costs.learn())
      return error;
    variants.push_back(std::move(variant));
    return Error::success();
  }

  /// Notes that a pipeline is not tried.
  void leaveOut(llvm::StringRef schedule, int64_t interleave,
                int64_t microBatches, llvm::StringRef reason) {
    answer.notTried.push_back(
        llvm::formatv("{0}{1} micro-batches, {2} {3} per stage: {4}",
                      schedule.empty() ? "" : (schedule + ", ").str(),
                      microBatches, interleave,
                      interleave == 1 ? "chunk" : "chunks", reason)
            .str());
  }

  /// Returns the numbers of chunks per stage to try with a schedule. Two is
  /// included if the schedule supports none of the requested numbers.
  std::vector<int64_t> findChunks(llvm::StringRef schedule,
                                  int64_t microBatches) const {
    const PipelineShape &own = variants.front()->costs.getShape();
    std::vector<int64_t> chunks = prepend(own.interleave, request.interleaves);
    if (schedule.empty())
      return chunks;
    const schedule::Policy &policy =
        *llvm::cantFail(schedule::findPolicy(schedule));
    const bool takesOne = llvm::any_of(chunks, [&](int64_t count) {
      Error error = policy.check(policy.place(own.stages, count, microBatches));
      const bool isTaken = !error;
      llvm::consumeError(std::move(error));
      return isTaken;
    });
    if (!takesOne)
      chunks = {2};
    return chunks;
  }

  Error search() {
    KnownTime cutoff;
    for (const std::unique_ptr<PlanVariant> &variant : variants) {
      Error searched = variant->search.run(cutoff);
      if (Error error = llvm::joinErrors(std::move(searched), finishGiven()))
        return error;
      if (answer.problem.kinds.empty()) {
        answer.problem = variant->search.getProblem();
        answer.result = variant->search.getResult();
      }
      take(*variant);
      if (const std::optional<CompiledPlan> &best = variant->search.getBest();
          best &&
          (cutoff.seconds == 0 || best->measure.seconds < cutoff.seconds))
        cutoff = {variant->search.getModelSeconds(), best->measure.seconds};
      if (const double bound = variant->search.getBoundSeconds(); bound > 0)
        answer.boundSeconds = answer.boundSeconds == 0
                                  ? bound
                                  : std::min(answer.boundSeconds, bound);
      answer.compiledSteps += variant->costs.getCompiledSteps();
    }
    answer.isCutShort = request.isStopped();
    answer.boundSeconds =
        std::min(answer.boundSeconds, answer.best.measure.seconds);
    if (answer.isGiven && !answer.givenFits)
      return variants.front()->costs.makeNoPlanError(answer.given);
    return Error::success();
  }

  /// Takes over a variant's plan if it is the shortest so far.
  void take(const PlanVariant &variant) {
    const std::optional<CompiledPlan> &best = variant.search.getBest();
    const bool isFirst = answer.isGiven && !answer.givenFits;
    if (!best ||
        (!isFirst && best->measure.seconds >= answer.best.measure.seconds))
      return;
    answer.best = *best;
    answer.isGiven = false;
    answer.schedule = variant.costs.getUnnamedSchedule();
    answer.recomputeTasks = variant.costs.hasRecomputeTasks();
    answer.problem = variant.search.getProblem();
    answer.result = variant.search.getResult();
  }
};

} // namespace

Expected<PlanAnswer> planner::planStep(const PlanRequest &request) {
  return Planning(request).run();
}
