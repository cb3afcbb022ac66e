//===- VariantSearch.h - Alternates solving and compiling -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Searches the memory settings of one variant of a YAML: solves the problem by
// the costs that are known, compiles the plan, learns from it, and goes on
// until the plan does not change any more.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_VARIANTSEARCH_H
#define MF_LIB_PLAN_SETTINGS_VARIANTSEARCH_H

#include "lib/Plan/Settings/VariantCosts.h"

namespace mf::planner {

/// The times of the best plan of other variants: that of its problem, and the
/// simulated one. Both are 0 if there is no such plan.
struct KnownTime {
  double model = 0;
  double seconds = 0;
};

class VariantSearch {
public:
  /// Keeps references to the arguments. `costs` must be learned or borrowed
  /// before the search.
  VariantSearch(const PlanRequest &request, VariantCosts &costs)
      : request(request), costs(costs) {}

  /// Estimates the step's time in seconds from costs, without compiling. Fails
  /// with a NoPlanError if nothing fits.
  llvm::Expected<double> estimate();

  /// Solves and compiles until the plan does not change any more. Plans whose
  /// expected time is that of `cutoff` or more are not compiled.
  llvm::Error run(const KnownTime &cutoff);

  /// Returns the shortest plan that fits, or nothing.
  const std::optional<CompiledPlan> &getBest() const { return best; }
  const solver::Problem &getProblem() const { return problem; }
  const solver::SolveResult &getResult() const { return result; }
  /// Returns the model's time of the best plan.
  double getModelSeconds() const { return modelSeconds; }
  /// Returns a lower bound on the step's time with any settings; 0 if there was
  /// no plan below the cutoff.
  double getBoundSeconds() const { return boundSeconds; }

private:
  const PlanRequest &request;
  VariantCosts &costs;
  /// Plans that were compiled.
  std::vector<Assignment> tried;
  /// Choices of stages that were compiled and did not fit.
  std::vector<solver::ForbiddenStage> forbidden;
  /// The number of plans that did not fit.
  int misfits = 0;
  /// The number of plans tried in addition to the model's best one, and the
  /// problem and solution before them.
  int explored = 0;
  solver::Problem settledProblem;
  solver::SolveResult settledResult;
  /// The plan that was compiled last.
  CompiledPlan current;
  std::optional<CompiledPlan> best;
  /// The memory problems of the last and of the best plan, by stage.
  std::vector<memory::StepProblem> currentArenas, bestArenas;
  solver::Problem problem;
  solver::SolveResult result;
  double modelSeconds = 0;
  double boundSeconds = 0;
  /// The difference between the simulated step's time and that of the model.
  double restSeconds = 0;

  // Problems and their solutions.
  void makeProblem();
  double getOwnCutoff(const KnownTime &cutoff) const;
  llvm::Error solveProblem(const KnownTime &cutoff);
  llvm::Expected<bool> solveNext(const KnownTime &cutoff);
  /// Returns the number of plans that did not fit although earlier ones which
  /// did not fit had corrected the costs.
  int getUselessCorrections() const { return std::max(0, misfits - 2); }

  // Compiled plans.
  int64_t getLimit() const { return costs.getContext().limitBytes; }
  bool fits(const StepMeasure &measure) const {
    return measure.fits(getLimit());
  }
  /// Returns whether the step could fit with a better plan of the arenas.
  bool mayFit(const StepMeasure &measure) const;
  llvm::Error compilePlan(const solver::Plan &plan,
                          const Assignment &assignment);
  llvm::Error refineMisfits();
  llvm::Error tryPlan(const solver::Plan &plan, const Assignment &assignment);
  void takeCurrent(double expectedSeconds);
  llvm::Expected<bool> confirmBest();
  llvm::Error takeObserved();

  // Exclusions from later problems.
  void forbidStage(const solver::Plan &plan, size_t stage);
  void forbid(const solver::Plan &plan, const StepMeasure &measure);
  bool leaveLast();

  llvm::Error searchRounds(const KnownTime &cutoff);
};

/// One variant: what its layers cost, and the search for its settings.
struct PlanVariant {
  /// The arguments are those of VariantCosts.
  template <typename... Args>
  PlanVariant(const PlanRequest &request, Args &&...args)
      : costs(request, std::forward<Args>(args)...), search(request, costs) {}

  VariantCosts costs;
  VariantSearch search;
};

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_VARIANTSEARCH_H
