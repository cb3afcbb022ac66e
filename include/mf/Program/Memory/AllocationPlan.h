//===- AllocationPlan.h - Entry point of the allocators ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Solves an AllocationProblem as well as the limits allow. Heuristics run
// first. A search follows if they exceed the capacity or leave a gap.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_ALLOCATIONPLAN_H
#define MF_PROGRAM_MEMORY_ALLOCATIONPLAN_H

#include "mf/Program/Memory/AllocationProblem.h"

namespace mf::memory {

/// The offsets of all buffers, and the end of the highest one.
struct Placement {
  std::vector<int64_t> offsets;
  int64_t peak = 0;
};

/// Places all buffers of a well-formed problem by list heuristics: in a fixed
/// order, each at the lowest address where it fits (Sekiyama et al.,
/// "Profile-guided memory optimization for deep neural networks", 2018;
/// Pisarchyk and Lee, "Efficient memory management for deep neural net
/// inference", 2020). The best of several orders is kept. Honours alignments
/// and fixed offsets; the capacity is ignored. Takes O(n log n) plus the number
/// of overlapping pairs inspected. `work` limits the total number of elementary
/// operations, such as a comparison of two lifetimes, of 5 to 10 ns each. The
/// first result, a best fit in order of time, is always computed.
/// Deterministic.
Placement solveFirstFit(const AllocationProblem &problem,
                        int64_t work = 30'000'000);

/// The best solution that was found, and what is known about better ones.
struct AllocationPlan {
  /// One offset per buffer, in order.
  std::vector<int64_t> offsets;
  /// The end of the buffer that ends highest.
  int64_t peak = 0;
  /// The max-live bound: no solution has a lower peak.
  LiveBound bound;
  /// True if the peak is within the problem's capacity or the problem has none.
  bool fits = true;
  /// True if the problem does not fit and it is proven that no solution can.
  bool isProvenInfeasible = false;
  /// True if no solution has a lower peak, because the peak equals the bound or
  /// a search has excluded every lower peak. False if this is not known.
  bool isOptimal = false;

  /// Returns the distance of the peak from the bound, relative to the bound.
  double getGap() const;
};

/// Limits on the work of planAllocation(). Work is counted, not timed: the same
/// problem and options give the same plan on every machine.
struct AllocationPlanOptions {
  /// The search for a lower peak ends once the relative gap is at most this.
  double acceptableGap = 0;
  /// Elementary operations of the heuristics, see solveFirstFit().
  int64_t heuristicWork = 30'000'000;
  /// Elementary operations of the search for a fit, which runs if the
  /// heuristics exceed the capacity. 0 disables it.
  int64_t fitWork = 10'000'000'000;
  /// Elementary operations of the search for a lower peak, which runs if the
  /// gap is not acceptable. 0 disables it.
  int64_t improvementWork = 300'000'000;
};

/// Plans a well-formed problem. Returns the error of check() for any other. If
/// no solution that fits the capacity is found, the plan is the best one known
/// and `fits` is false.
llvm::Expected<AllocationPlan>
planAllocation(const AllocationProblem &problem,
               const AllocationPlanOptions &options = {});

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_ALLOCATIONPLAN_H
