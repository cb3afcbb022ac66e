//===- Incumbent.h - The best plan so far -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_INCUMBENT_H
#define MF_LIB_PLAN_SOLVER_INCUMBENT_H

#include "OptionChain.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

namespace mf::solver {

/// The options of a plan, with its time.
struct LocalPlan {
  OptionList options;
  int64_t ticks = std::numeric_limits<int64_t>::max();
};

/// Returns the durations of the plan with these options.
inline std::vector<int64_t> getDurations(llvm::ArrayRef<StageOptions> stages,
                                         const OptionList &options,
                                         const TickProblem &problem) {
  std::vector<int64_t> durations(problem.getNumDurations(), 0);
  for (auto [stage, option] : llvm::zip_equal(stages, options))
    for (auto [number, duration] :
         llvm::zip_equal(stage.durationNumbers, stage.getDurations(option)))
      durations[number] = static_cast<int64_t>(duration);
  return durations;
}

inline Plan getPlan(llvm::ArrayRef<StageOptions> stages,
                    const OptionList &options, const TickProblem &problem) {
  Plan plan;
  plan.chunks.resize(problem.getNumChunks());
  for (auto [stage, option] : llvm::zip_equal(stages, options))
    for (auto [chunk, choice] : llvm::zip_equal(problem.getChunks(stage.stage),
                                                stage.getChoices(option)))
      plan.chunks[chunk] = choice->plan;
  return plan;
}

/// The best plan that a search has found, and the conditions that end the
/// search.
class Incumbent {
public:
  Incumbent(const TickProblem &problem, StepGraph &graph,
            const SolveOptions &options)
      : problem(problem), graph(graph), options(options), ticks(unlimited) {
    if (options.cutoff > 0) {
      ticks = problem.getTicksBelow(options.cutoff);
      if (problem.getTime(ticks) < options.cutoff)
        ++ticks;
    }
  }

  /// Runs a plan through the step and keeps it if it is the best. Returns its
  /// ticks.
  int64_t offer(llvm::ArrayRef<StageOptions> stages, const OptionList &list) {
    int64_t time = graph.getMakespan(getDurations(stages, list, problem));
    if (time < ticks) {
      ticks = time;
      plan = mf::solver::getPlan(stages, list, problem);
    }
    return time;
  }

  void offer(const Plan &offered) {
    std::vector<TickCosts> costs;
    for (auto [chunk, ofChunk] : llvm::enumerate(offered.chunks))
      costs.push_back(problem.getCosts(static_cast<int64_t>(chunk), ofChunk));
    int64_t time = graph.getMakespan(problem.getDurations(costs));
    if (time >= ticks)
      return;
    ticks = time;
    plan = offered;
  }

  const std::optional<Plan> &getPlan() const { return plan; }
  /// Returns the ticks of the best plan. Only plans of fewer ticks are of
  /// interest.
  int64_t getTicks() const { return ticks; }
  /// Returns the bound from which on plans are of no interest. It is between
  /// two ticks, because plans have whole ticks.
  double getLimit() const { return static_cast<double>(ticks) - 0.5; }
  /// Returns whether there is neither a plan nor a cutoff.
  bool isUnlimited() const { return ticks == unlimited; }
  bool hasPlan() const { return plan.has_value(); }

  /// Counts a candidate. Returns whether the search has examined enough of
  /// them, or was stopped.
  bool isOver() {
    // The first plan is worth more work than a better one.
    constexpr int64_t withoutPlan = 100;
    ++numCandidates;
    const bool isEnough =
        options.mostCandidates > 0 &&
        numCandidates / (plan ? 1 : withoutPlan) > options.mostCandidates;
    return isEnough || (options.stop != nullptr && options.stop->load());
  }

  int64_t getNumCandidates() const { return numCandidates; }
  /// Returns whether the best plan is near enough to a bound on all plans.
  bool isNear(double boundTicks) const {
    const auto best = static_cast<double>(ticks);
    return plan && best - boundTicks < options.gap * best;
  }

  /// Reports the progress, if a listener was given.
  void report(double boundTicks) {
    if (!options.progress)
      return;
    options.progress({plan ? problem.getTime(ticks)
                           : std::numeric_limits<double>::infinity(),
                      problem.getTime(static_cast<int64_t>(boundTicks))});
  }

private:
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 4;

  const TickProblem &problem;
  StepGraph &graph;
  const SolveOptions &options;
  int64_t numCandidates = 0;
  std::optional<Plan> plan;
  int64_t ticks;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_INCUMBENT_H
