//===- Solver.h - The shortest step that fits -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Finds a plan of least time and proves that it is optimal. It uses the
// Pareto-optimal options of every stage, path cuts (a critical path of any plan
// bounds the time of all plans from below), a dynamic program over the stages
// that finds the least value of the cuts, elimination of options that cannot be
// in a better plan, and branch and bound over the remaining plans.
// Work is counted and no clock is read: the same problem has the same plan on
// every machine unless the caller ends the search.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SOLVER_SOLVER_H
#define MF_PLAN_SOLVER_SOLVER_H

#include "mf/Plan/Solver/Problem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <atomic>

namespace mf::solver {

/// The input is valid, but nothing fits, or the search ended before it found a
/// plan that fits. Tools return a distinct exit code for it.
class NoPlanError : public llvm::ErrorInfo<NoPlanError, llvm::StringError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;

  explicit NoPlanError(const llvm::Twine &message)
      : ErrorInfo(message, llvm::inconvertibleErrorCode()) {}
};

/// The state of a running search.
struct SolveProgress {
  /// The time of the best plan so far; infinite if there is none yet.
  double time = 0;
  double bound = 0;
};

/// Limits and start values of a search.
struct SolveOptions {
  /// A flag that ends the search with the best plan so far when it is set, as
  /// ^C does. May be null.
  const std::atomic<bool> *stop = nullptr;
  /// Plans that the search starts with. Plans that do not verify are skipped.
  std::vector<Plan> incumbents;
  /// Only plans that take less time are searched. The search ends as soon as
  /// there can be none. 0 for no cutoff.
  double cutoff = 0;
  /// The search ends when no plan can be shorter by more than this share of the
  /// best plan's time.
  double gap = 0;
  /// A search that has a plan ends when it has examined so many candidates:
  /// sets of options, and options of a set. Without a plan it ends after many
  /// times as many. 0 for no limit.
  int64_t mostCandidates = 0;
  /// Called from time to time.
  llvm::function_ref<void(const SolveProgress &)> progress;
};

/// The result of a search.
struct SolveResult {
  /// The best plan. Empty if none is better than the cutoff.
  std::optional<Plan> plan;
  /// The time of the plan; infinite if there is none.
  double time = 0;
  /// A lower bound on the time of all plans. Equals `time` if the plan is
  /// proven to be optimal.
  double bound = 0;
  bool isProven = false;
  /// The number of candidates that were examined.
  int64_t candidates = 0;
  /// The number of options of stages before and after elimination, and of nodes
  /// searched.
  int64_t options = 0, optionsLeft = 0, nodes = 0;

  double getGap() const { return time > 0 ? (time - bound) / time : 0; }
};

/// Solves a problem. If no plan is feasible, the error names the stage that
/// lacks most memory in the best attempt, and how much it lacks.
llvm::Expected<SolveResult> solve(const Problem &problem,
                                  const SolveOptions &options = {});

/// Returns a lower bound on the time of all plans that fit, without a search of
/// the best one. It is that of a mixture of their critical paths. A bound of
/// `cutoff` or more need not be better; 0 for no cutoff. Fails as solve() does.
llvm::Expected<double> findBound(const Problem &problem, double cutoff);

/// Returns a lower bound on the time of all plans, without a search. It is that
/// of a search that ends before it knows all plans.
double getLeastTime(const Problem &problem);

/// The reason why no better option was chosen for a stage.
struct Refusal {
  int64_t stage = 0;
  /// The chunks of the stage with the closest alternative. Among the options
  /// that change the treatment of one chunk, without changing its number of
  /// layers, and shorten the stage's time, it is the one that shortens it
  /// least.
  std::vector<ChunkPlan> chunks;
  /// The time that it would save of the stage's tasks for one micro-batch.
  double saved = 0;
  /// The memory that the option needs above the limit; 0 if it fits.
  double missingMemory = 0;
  /// If the option fits, the time of the step with it, which is proven not to
  /// be shorter.
  double time = 0;
};

/// Explains the choice for every stage that has an option which saves time on
/// that stage.
std::vector<Refusal> explain(const Problem &problem, const Plan &plan);

/// The solution for one limit of memory.
struct FrontierPoint {
  double limit = 0;
  /// The best plan. Empty if no plan fits.
  std::optional<SolveResult> result;
  /// The stage with the least free memory.
  int64_t tightestStage = -1;
};

/// Returns the problem with limits that are shifted by the same amount, such
/// that the largest one is `limit`.
Problem shiftLimits(const Problem &problem, double limit);

/// Solves the problem for each limit, to which limits of stages are shifted. If
/// limits ascend, times do not rise. The limits share the candidates.
llvm::Expected<std::vector<FrontierPoint>>
solveFrontier(const Problem &problem, llvm::ArrayRef<double> limits,
              const SolveOptions &options = {});

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_SOLVER_H
