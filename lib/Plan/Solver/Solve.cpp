//===- Solve.cpp - The shortest step that fits ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PathMixture.h"
#include "Ticks.h"
#include "TreeSearch.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <limits>

using llvm::Twine;

namespace mf::solver {

char NoPlanError::ID = 0;

namespace {

/// A plan for limits that are raised, and the memory that it lacks.
struct RefusalAttempt {
  int64_t stage = 0, missing = 0;
  /// The memory that the stage needs.
  int64_t peak = 0;
};

/// A limit on the work of attempts, of some seconds. Work is counted, so that
/// an explanation always ends and is the same on every machine.
class TryBudget {
public:
  bool isSpent() const { return left < 0; }
  int64_t getLeft() const { return left; }
  void setLeft(int64_t tries) { left = tries; }
  void spend() { left = -1; }

private:
  int64_t left = 20'000'000;
};

/// Returns a plan that exceeds the limits by at most `slack`, if one is found.
std::optional<RefusalAttempt> tryWith(const TickProblem &problem, int64_t slack,
                                      const std::vector<LayerRange> &ranges,
                                      TryBudget &budget) {
  TickProblem relaxed = problem;
  relaxed.addSlack(slack);
  ChunkChoices choices(relaxed, ChunkChoices::Aim::Memory);
  KindLayouts layouts(relaxed, ranges);
  if (layouts.areTooMany()) {
    budget.spend();
    return std::nullopt;
  }
  OptionMaker maker(relaxed, choices, layouts);
  std::vector<StageOptions> stages;
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
    OptionBound bound;
    bound.counts.assign(getDurationNumbers(relaxed, stage).size(), 0);
    bound.limit = 1;
    stages.push_back(maker.make(stage, bound));
  }
  OptionChain chain(stages, relaxed, layouts, budget.getLeft());
  budget.setLeft(chain.getTriesLeft());
  if (chain.isEmpty())
    return std::nullopt;
  PathCut cut;
  cut.counts.assign(problem.getNumDurations(), 1);
  OptionList options;
  chain.getLeast(cut, &options);
  RefusalAttempt worst;
  worst.missing = std::numeric_limits<int64_t>::min();
  for (const StageOptions &stage : stages) {
    std::vector<TickCosts> costs;
    for (const ChunkChoice *choice : stage.getChoices(options[stage.stage]))
      costs.push_back(choice->costs);
    int64_t peak = problem.getPeak(stage.stage, costs);
    int64_t missing = peak - problem.getLimit(stage.stage);
    if (missing > worst.missing)
      worst = {stage.stage, missing, peak};
  }
  return worst;
}

/// Returns the attempt that lacks the least memory, to a thousandth.
RefusalAttempt improve(const TickProblem &problem, RefusalAttempt best,
                       const std::vector<LayerRange> &ranges,
                       TryBudget &budget) {
  int64_t refused = 0;
  while (best.missing - refused > best.missing / 1000 + 1) {
    int64_t slack = refused + (best.missing - refused) / 2;
    std::optional<RefusalAttempt> better =
        tryWith(problem, slack, ranges, budget);
    if (budget.isSpent())
      break;
    if (better)
      best = *better;
    else
      refused = slack;
  }
  return best;
}

} // namespace

/// Returns the error for a problem whose kinds of layers can be arranged in too
/// many ways.
static llvm::Error makeTooManyError(const TickProblem &problem) {
  return llvm::createStringError(
      "layers: " + Twine(problem.getNumKinds()) +
      " kinds of layers can end in too many combinations of " +
      Twine(problem.getNumChunks()) +
      " chunks; expected fewer entries (one for all consecutive layers that "
      "cost the same), or narrower min_layers and max_layers");
}

/// Explains why no plan is feasible. The error names the stage that lacks most
/// memory if the layers are distributed and treated such that this lack is
/// least, or the rule that excludes all plans.
static llvm::Error explainInfeasible(const TickProblem &problem) {
  constexpr int64_t unlimited = int64_t(1) << 61;
  std::vector<LayerRange> all = getAllRanges(problem);
  std::optional<RefusalAttempt> best;
  TryBudget budget;
  for (int64_t width = 1; !budget.isSpent(); width *= 2) {
    std::vector<LayerRange> ranges = getMeanRanges(problem, width);
    int64_t known = best ? best->missing : unlimited;
    std::optional<RefusalAttempt> attempt =
        tryWith(problem, best ? known - 1 : unlimited, ranges, budget);
    if (attempt && attempt->missing > 0)
      best = improve(problem, *attempt, ranges, budget);
    else if (best || ranges == all)
      break;
  }
  if (!best && budget.isSpent())
    return llvm::make_error<NoPlanError>(
        "no plan fits, and there are too many to find the one that misses "
        "least; expected higher limits, more stages or treatments that keep "
        "less");
  if (!best)
    return llvm::make_error<NoPlanError>(
        "no numbers of layers and treatments follow all rules of the problem; "
        "expected fewer given numbers, exclusive treatments or forbidden "
        "stages, or copies that are hidden");
  double limit = problem.get().stages[best->stage].limit;
  return llvm::make_error<NoPlanError>(
      "no plan fits: the best attempt misses most on stage " +
      Twine(best->stage) +
      llvm::formatv(", which needs {0} and has {1}, {2} too little; expected "
                    "a higher limit, more stages or treatments that keep less",
                    problem.getMemory(best->peak), limit,
                    problem.getMemory(best->missing)));
}

using schedule::Phase;

namespace {

class WorkBound {
public:
  explicit WorkBound(const TickProblem &problem)
      : problem(problem), pipeline(problem.get().schedule.pipeline) {}

  double get() const {
    const double ofRun = sumLayers() + sumExtras();
    const auto runs = static_cast<double>(pipeline.microBatches) *
                      static_cast<double>(pipeline.pieces);
    // A slot hides at most the shorter of its tasks.
    const double shown =
        (1 + static_cast<double>(problem.getShown()) / TickProblem::slotParts) /
        2;
    double all = shown * runs * ofRun + sumWaits(0);
    // Weight gradients may run while the gradients of other stages do.
    if (!problem.get().schedule.splitsBackward && pipeline.firstTrained == 0)
      all += sumWaits(1);
    return all / static_cast<double>(problem.getNumStages());
  }

private:
  /// Returns the time of the tasks that every plan has for one micro-batch.
  /// Some chunks may not be trained, and some micro-batches may not recompute.
  double sumTasks(const TickCosts &costs) const {
    double time = 0;
    for (auto [phase, own] : llvm::zip(problem.getPhases(), costs.times))
      if (phase == Phase::Forward ||
          (phase != Phase::Recompute && pipeline.firstTrained == 0))
        time += static_cast<double>(own);
    return time;
  }

  /// Returns the time of a phase of the layer in which it is shortest.
  double getLeast(size_t phase) const {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t kind = 0; kind < problem.getNumKinds(); ++kind)
      for (size_t treatment = 0; treatment < problem.get().getNumTreatments();
           ++treatment)
        least = std::min(least, problem.getLayer(kind, treatment).times[phase]);
    return static_cast<double>(least);
  }

  double sumLayers() const {
    double work = 0;
    for (size_t kind = 0; kind < problem.getNumKinds(); ++kind) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t treatment = 0; treatment < problem.get().getNumTreatments();
           ++treatment)
        least = std::min(least, sumTasks(problem.getLayer(kind, treatment)));
      work += static_cast<double>(problem.get().kinds[kind].count) * least;
    }
    return work;
  }

  double sumExtras() const {
    double work = 0;
    for (int64_t chunk = 0; chunk < problem.getNumChunks(); ++chunk)
      work += sumTasks(problem.getExtra(chunk));
    return work;
  }

  /// Returns the time for which stages wait while the chunks before their first
  /// one run a phase, summed over the stages.
  double sumWaits(size_t phase) const {
    const double ofLayers =
        getLeast(phase) * static_cast<double>(problem.get().minLayersPerChunk);
    double waits = 0;
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
      for (int64_t chunk = 0; chunk < problem.getChunks(stage).front(); ++chunk)
        waits += ofLayers +
                 static_cast<double>(problem.getExtra(chunk).times[phase]);
    return waits;
  }

  const TickProblem &problem;
  const schedule::Pipeline &pipeline;
};

} // namespace

/// Returns a lower bound in ticks on the time of all plans, whatever their
/// memory: stages share the least work that there is, and wait before their
/// first and after their last task.
static double getWorkBound(const TickProblem &problem) {
  return WorkBound(problem).get();
}

namespace {

class Solver {
public:
  Solver(const Problem &problem, const SolveOptions &options)
      : problem(problem), graph(this->problem),
        choices(this->problem, ChunkChoices::Aim::Times,
                [this] { return incumbent.isOver(); }),
        incumbent(this->problem, graph, options) {}

  /// Without a plan, the error is that of `explain`.
  llvm::Expected<SolveResult>
  run(llvm::ArrayRef<Plan> incumbents,
      llvm::function_ref<llvm::Error(const TickProblem &)> explain) {
    for (const Plan &plan : incumbents) {
      if (llvm::Error error = plan.verify(problem.get()))
        llvm::consumeError(std::move(error));
      else
        incumbent.offer(plan);
    }
    if (!incumbent.hasPlan())
      findFirst();
    std::unique_ptr<Plans> plans = makePlans(getAllRanges(problem));
    const bool areTooMany = plans->layouts.areTooMany();
    if (areTooMany && incumbent.isUnlimited())
      return makeTooManyError(problem);
    // If some plans are not known, only the bound of work holds.
    if (choices.isCutShort() || areTooMany) {
      finish(0);
      return result;
    }
    OptionChain chain(plans->stages, problem, plans->layouts);
    result.options = chain.getNumOptions();
    if (chain.isEmpty() && incumbent.isUnlimited())
      return explain(problem);
    const TreeResult tree =
        searchTree(std::move(chain), graph, problem, incumbent);
    result.optionsLeft = tree.optionsLeft;
    result.nodes = tree.nodes;
    finish(tree.bound);
    return result;
  }

  llvm::Expected<double> findBound() {
    constexpr int64_t rounds = 40;
    if (incumbent.isUnlimited())
      findFirst();
    std::unique_ptr<Plans> plans = makePlans(getAllRanges(problem));
    const bool areTooMany = plans->layouts.areTooMany();
    if (areTooMany && incumbent.isUnlimited())
      return makeTooManyError(problem);
    double bound = 0;
    if (!areTooMany) {
      OptionChain chain(plans->stages, problem, plans->layouts);
      if (chain.isEmpty() && incumbent.isUnlimited())
        return explainInfeasible(problem);
      bound = mixPaths(chain, graph, problem, incumbent, MixtureStart(), rounds)
                  .bound;
    }
    finish(bound);
    return result.bound;
  }

private:
  /// The options of all stages whose numbers of layers are in given ranges.
  /// There are no stages if there are too many layouts.
  struct Plans {
    KindLayouts layouts;
    std::vector<StageOptions> stages;
  };
  std::unique_ptr<Plans> makePlans(std::vector<LayerRange> ranges) {
    auto plans = std::make_unique<Plans>(
        Plans{KindLayouts(problem, std::move(ranges)), {}});
    if (plans->layouts.areTooMany())
      return plans;
    OptionMaker maker(problem, choices, plans->layouts);
    std::vector<OptionBound> bounds =
        getStageBounds(problem, graph, plans->layouts, incumbent.getLimit());
    for (int64_t stage = 0; stage < problem.getNumStages(); ++stage)
      plans->stages.push_back(maker.make(stage, bounds[stage]));
    return plans;
  }

  /// Finds a good plan whose numbers of layers are near the mean, of which
  /// there are few. It excludes most other plans from the search.
  void findFirst() {
    std::vector<LayerRange> all = getAllRanges(problem);
    for (int64_t width = 1; !incumbent.isOver(); width *= 2) {
      std::vector<LayerRange> ranges = getMeanRanges(problem, width);
      if (ranges == all)
        return;
      std::unique_ptr<Plans> plans = makePlans(std::move(ranges));
      if (choices.isCutShort() || plans->layouts.areTooMany())
        return;
      OptionChain chain(plans->stages, problem, plans->layouts);
      if (chain.isEmpty())
        continue;
      searchRoot(std::move(chain), graph, problem, incumbent);
      if (incumbent.hasPlan())
        return;
    }
  }

  void finish(double boundTicks) {
    boundTicks = std::max(boundTicks, std::floor(getWorkBound(problem)));
    result.plan = incumbent.getPlan();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    result.isProven = boundTicks >= incumbent.getLimit();
    result.candidates = incumbent.getNumCandidates();
    double limit = problem.getTime(incumbent.getTicks());
    result.time = result.plan ? limit : infinity;
    result.bound = result.isProven
                       ? limit
                       : problem.getTime(static_cast<int64_t>(boundTicks));
  }

  TickProblem problem;
  StepGraph graph;
  ChunkChoices choices;
  Incumbent incumbent;
  SolveResult result;
};

} // namespace

/// Returns the treatments of the layer that others follow, so that it and its
/// followers keep ever less.
static std::vector<size_t> listFollowed(const Problem &problem) {
  std::vector<size_t> treatments;
  for (size_t treatment = 0; treatment < problem.getNumTreatments();
       ++treatment)
    treatments.push_back(treatment);
  auto getKept = [&](size_t treatment) {
    double kept = 0;
    for (size_t kind = problem.getNumLeaders() - 1; kind < problem.kinds.size();
         ++kind)
      kept += static_cast<double>(problem.kinds[kind].count) *
              problem.kinds[kind].treatments[treatment].activationMemory;
    return kept;
  };
  llvm::sort(treatments, [&](size_t one, size_t other) {
    return std::pair(-getKept(one), one) < std::pair(-getKept(other), other);
  });
  return treatments;
}

/// Solves a problem for each treatment that a layer and its followers may have.
/// They may be in different chunks, whose options are independent.
static llvm::Expected<SolveResult> solveFollowed(Problem problem,
                                                 const SolveOptions &options) {
  const std::vector<size_t> treatments = listFollowed(problem);
  SolveOptions own = options;
  std::optional<SolveResult> best;
  for (auto [index, treatment] : llvm::enumerate(treatments)) {
    problem.followed = treatment;
    if (options.mostCandidates > 0) {
      const int64_t used = best ? best->candidates : 0;
      const auto left = static_cast<int64_t>(treatments.size() - index);
      own.mostCandidates =
          std::max<int64_t>(1, (options.mostCandidates - used) / left);
    }
    // What keeps least shows best what is missing.
    const bool explains = index + 1 == treatments.size() && !best;
    bool isPossible = true;
    llvm::Expected<SolveResult> result =
        Solver(problem, own)
            .run(options.incumbents, [&](const TickProblem &ticks) {
              isPossible = false;
              return explains ? explainInfeasible(ticks)
                              : llvm::createStringError("not possible");
            });
    if (!result && (isPossible || explains))
      return result.takeError();
    if (!result) {
      llvm::consumeError(result.takeError());
      continue;
    }
    if (!best) {
      best = std::move(*result);
    } else {
      best->candidates += result->candidates;
      best->options += result->options;
      best->optionsLeft += result->optionsLeft;
      best->nodes += result->nodes;
      best->isProven &= result->isProven;
      best->bound = std::min(best->bound, result->bound);
      if (result->plan) {
        best->plan = std::move(result->plan);
        best->time = result->time;
      }
    }
    if (best->plan)
      own.cutoff = best->time;
  }
  return std::move(*best);
}

/// Returns whether no plan takes any time.
static bool takesNoTime(const Problem &problem) {
  auto isTimed = [](const auto &part) {
    return part.forward > 0 || part.backward > 0;
  };
  for (const LayerKind &kind : problem.kinds)
    if (kind.updateTime > 0 || llvm::any_of(kind.treatments, isTimed))
      return false;
  return problem.transferTime == 0 &&
         llvm::none_of(problem.extras, [&](const ChunkExtra &extra) {
           return isTimed(extra) || extra.updateTime > 0;
         });
}

/// Solves a problem in which no plan takes any time, so that every plan that
/// fits is optimal. The search compares plans by paths, which need some time,
/// so each layer takes 1; copies still fit nowhere.
static llvm::Expected<SolveResult> solveUntimed(Problem problem,
                                                const SolveOptions &options) {
  const auto tooLong = static_cast<double>(problem.getNumLayers() + 1);
  for (LayerKind &kind : problem.kinds)
    for (Treatment &treatment : kind.treatments) {
      treatment.forward = 1;
      if (treatment.copyOut > 0 || treatment.copyIn > 0)
        treatment.copyOut = tooLong;
    }
  llvm::Expected<SolveResult> result = solve(problem, options);
  if (result && result->plan) {
    result->time = result->bound = 0;
    result->isProven = true;
  }
  return result;
}

llvm::Expected<double> findBound(const Problem &problem, double cutoff) {
  if (llvm::Error error = problem.check())
    return error;
  if (takesNoTime(problem))
    return 0;
  SolveOptions options;
  options.cutoff = cutoff;
  return Solver(problem, options).findBound();
}

double getLeastTime(const Problem &problem) {
  const TickProblem ticks(problem);
  return ticks.getTime(static_cast<int64_t>(getWorkBound(ticks)));
}

llvm::Expected<SolveResult> solve(const Problem &problem,
                                  const SolveOptions &options) {
  if (llvm::Error error = problem.check())
    return error;
  if (takesNoTime(problem))
    return solveUntimed(problem, options);
  if (problem.numFollowers > 0 && !problem.followed)
    return solveFollowed(problem, options);
  return Solver(problem, options).run(options.incumbents, explainInfeasible);
}

} // namespace mf::solver
