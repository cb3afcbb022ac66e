//===- ExplainInfeasible.cpp - Explains why no plan fits ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExplainInfeasible.h"
#include "Incumbent.h"
#include "mf/Plan/Solver/NoPlanError.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::Twine;

namespace mf::solver {

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

llvm::Error makeTooManyError(const TickProblem &problem) {
  return llvm::createStringError(
      "layers: " + Twine(problem.getNumKinds()) +
      " kinds of layers can end in too many combinations of " +
      Twine(problem.getNumChunks()) +
      " chunks; expected fewer entries (one for all consecutive layers that "
      "cost the same), or narrower min_layers and max_layers");
}

llvm::Error explainInfeasible(const TickProblem &problem) {
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

} // namespace mf::solver
