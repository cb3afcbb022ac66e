//===- AllocationPlan.h - Entry point of the allocators ---------*- C++ -*-===//
//
// Solves an AllocationProblem as well as the limits allow: heuristics first,
// then search where they do not fit the capacity or leave a gap.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_ALLOCATIONPLAN_H
#define MF_MEMORY_ALLOCATIONPLAN_H

#include "mf/Program/Memory/AllocationProblem.h"

namespace mf::memory {

/// A solution and how good it is.
struct AllocationPlan {
  /// One offset per buffer, in order.
  std::vector<int64_t> offsets;
  /// The end of the highest buffer.
  int64_t peak = 0;
  /// The max-live bound: no solution has a lower peak.
  LiveBound bound;
  /// The peak is within the problem's capacity, or it has none.
  bool fits = true;
  /// The problem does not fit, and no solution can.
  bool isProvenInfeasible = false;
  /// No solution has a lower peak: it is the bound, or a search has gone
  /// through all that is lower. False if that is not known.
  bool isOptimal = false;

  /// How far the peak is above the bound, relative to it.
  double getGap() const;
};

/// Limits on the work of planAllocation(). Work is counted, not timed: the same
/// problem and options give the same plan on every machine.
struct AllocationPlanOptions {
  /// The search for a lower peak ends when it is at most this above the bound.
  double acceptableGap = 0;
  /// Elementary steps of the heuristics, see FirstFitOptions.
  int64_t heuristicWork = 30'000'000;
  /// Elementary steps of the search for a fit, which is tried if the heuristics
  /// exceed the capacity; see CapacitySearchOptions. 0 for none.
  int64_t fitWork = 10'000'000'000;
  /// Elementary steps of the search for a lower peak, which is tried if the gap
  /// is not acceptable. 0 for none.
  int64_t improvementWork = 300'000'000;
};

/// Plans a well-formed problem; an error of check() otherwise. If nothing is
/// found that fits the capacity, the plan is the best one known and `fits` is
/// false.
llvm::Expected<AllocationPlan>
planAllocation(const AllocationProblem &problem,
               const AllocationPlanOptions &options = {});

} // namespace mf::memory

#endif // MF_MEMORY_ALLOCATIONPLAN_H
