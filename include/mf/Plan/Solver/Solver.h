//===- Solver.h - The shortest step that fits -----------------*- C++ -*-===//
//
// Finds the plan of least time, and proves it: options of every stage that no
// other is better than, path cuts (a critical path of any plan bounds the time
// of all plans from below), a dynamic program over the stages that finds the
// least value of cuts, elimination of options that cannot be in a better plan,
// and branch and bound over the remaining plans. Deterministic unless the time
// ends.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SOLVER_H
#define MF_PLAN_SOLVER_H

#include "mf/Plan/Solver/Problem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <atomic>

namespace mf::plan {

/// The state of a running search.
struct SolveProgress {
  double seconds = 0;
  /// Time of the best plan so far; infinite if there is none yet.
  double time = 0;
  double bound = 0;
};

struct SolveOptions {
  /// Seconds; the search ends with the best plan so far.
  double timeLimit = 60;
  /// Ends the search too, as ^C does. May be null.
  const std::atomic<bool> *stop = nullptr;
  /// Plans that the search starts with; those that do not verify are skipped.
  std::vector<Plan> incumbents;
  /// Only plans of less than that time are asked for; the search ends as soon
  /// as there can be none.
  double cutoff = 0; ///< 0: none
  /// Called now and then.
  llvm::function_ref<void(const SolveProgress &)> progress;
};

struct SolveResult {
  /// Nothing if no plan is better than the cutoff.
  std::optional<Plan> plan;
  /// Time of the plan; infinite if there is none.
  double time = 0;
  /// No plan takes less. Equal to `time` if the plan is proven.
  double bound = 0;
  bool isProven = false;
  double seconds = 0;
  /// Options of stages at first and after elimination, and nodes searched.
  int64_t options = 0, optionsLeft = 0, nodes = 0;

  double getGap() const { return time > 0 ? (time - bound) / time : 0; }
};

/// A problem that no plan solves: the error names the stage that misses most,
/// and how much it misses, of the best attempt.
llvm::Expected<SolveResult> solve(const Problem &problem,
                                  const SolveOptions &options = {});

/// Why a stage has no better option.
struct Refusal {
  int64_t stage = 0;
  /// The chunks of the stage with the option that would be next: of those that
  /// treat one chunk in another way, with the same numbers of layers, the one
  /// that lowers the time of the stage least.
  std::vector<ChunkPlan> chunks;
  /// Time of the stage's tasks of a micro-batch that it would save.
  double saved = 0;
  /// The memory that the option needs beyond the limit; none if it fits.
  double missingMemory = 0;
  /// If it fits: the time of the step with it (no shorter, as it is proven).
  double time = 0;
};

/// Explains the choice for every stage that has an option which saves time of
/// its own.
std::vector<Refusal> explain(const Problem &problem, const Plan &plan);

struct FrontierPoint {
  double limit = 0;
  /// The best plan; none if no plan fits.
  std::optional<SolveResult> result;
  /// The stage with the least memory left.
  int64_t tightestStage = -1;
};

/// Solves for each limit, set on all stages whose limit is the largest of the
/// problem; the others keep their distance to it. Ascending limits give
/// times that never rise.
llvm::Expected<std::vector<FrontierPoint>>
solveFrontier(const Problem &problem, llvm::ArrayRef<double> limits,
              const SolveOptions &options = {});

} // namespace mf::plan

#endif // MF_PLAN_SOLVER_H
