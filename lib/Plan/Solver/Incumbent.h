//===- Incumbent.h - The best plan so far ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_INCUMBENT_H
#define MF_LIB_PLAN_SOLVER_INCUMBENT_H

#include "OptionChain.h"
#include "mf/Plan/Solver/Solver.h"
#include <limits>

namespace mf::solver {

/// Returns the durations of the plan with these options.
std::vector<int64_t> getDurations(llvm::ArrayRef<StageOptions> stages,
                                  const OptionList &options,
                                  const TickProblem &problem);
Plan getPlan(llvm::ArrayRef<StageOptions> stages, const OptionList &options,
             const TickProblem &problem);

/// The options of a plan, with its time.
struct LocalPlan {
  OptionList options;
  int64_t ticks = std::numeric_limits<int64_t>::max();
};

/// The best plan that a search has found, and the conditions that end the
/// search.
class Incumbent {
public:
  Incumbent(const TickProblem &problem, StepGraph &graph,
            const SolveOptions &options);

  /// Runs a plan through the step and keeps it if it is the best. Returns its
  /// ticks.
  int64_t offer(llvm::ArrayRef<StageOptions> stages, const OptionList &options);
  void offer(const Plan &plan);

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
  bool isOver();
  int64_t getNumCandidates() const { return numCandidates; }
  /// Returns whether the best plan is near enough to a bound on all plans.
  bool isNear(double boundTicks) const;
  /// Reports the progress, if a listener was given.
  void report(double boundTicks);

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
