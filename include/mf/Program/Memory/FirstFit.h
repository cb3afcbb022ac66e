//===- FirstFit.h - Fast allocation heuristics ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// List heuristics: buffers are placed in a fixed order, each at the lowest
// address where it fits (Sekiyama et al., "Profile-guided memory optimization
// for deep neural networks", 2018; Pisarchyk and Lee, "Efficient memory
// management for deep neural net inference", 2020). The best of several orders
// is kept.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_FIRSTFIT_H
#define MF_PROGRAM_MEMORY_FIRSTFIT_H

#include "mf/Program/Memory/AllocationProblem.h"

namespace mf::memory {

/// The offsets of all buffers, and the end of the highest one.
struct Placement {
  std::vector<int64_t> offsets;
  int64_t peak = 0;
};

/// Limits on the work of solveFirstFit().
struct FirstFitOptions {
  /// The total number of elementary operations, such as a comparison of two
  /// lifetimes. An operation takes 5 to 10 ns. The first result, a best fit in
  /// order of time, is always computed.
  int64_t work = 30'000'000;
  /// The heuristics stop at a placement whose peak is at most this, or equals
  /// the max-live bound.
  int64_t goodPeak = 0;
};

/// Places all buffers of a well-formed problem, honouring alignments and fixed
/// offsets; the capacity is ignored. Takes O(n log n) plus the number of
/// overlapping pairs inspected, which `work` limits. Deterministic.
Placement solveFirstFit(const AllocationProblem &problem,
                        const FirstFitOptions &options = {});

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_FIRSTFIT_H
