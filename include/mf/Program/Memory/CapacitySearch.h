//===- CapacitySearch.h - Search for a fit within a capacity ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Searches for offsets within a capacity that heuristics miss. It builds the
// packing from below. The skyline is the height that each section of time has
// reached. A stretch of it that is lower than both neighbours is a valley. In
// the section of a valley where the fewest buffers can come next, the search
// branches over the next buffer, and over leaving the bottom of the valley
// empty. Every solution in which no buffer can be moved down is in exactly one
// branch. The search prunes a state by these rules:
//
// - a section whose remaining buffers do not fit above the skyline;
// - the skyline raised to the lowest offset of any buffer left in a section
//   (the section inference of Moffitt, "MiniMalloc: a lightweight memory
//   allocator for hardware-accelerated machine learning", ASPLOS 2023);
// - a buffer left that would fit into space left empty (dominance, ibid.);
// - parts of time that no buffer left spans are solved one by one, so that a
//   failure of one does not redo the other;
// - states that failed before, in a hash table.
//
// Short runs with different rules for choosing sections and buffers, and with
// random tie breaks, take turns with growing limits.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_CAPACITYSEARCH_H
#define MF_PROGRAM_MEMORY_CAPACITYSEARCH_H

#include "mf/Program/Memory/AllocationProblem.h"

namespace mf::memory {

/// Limits on solveAtCapacity().
struct CapacitySearchOptions {
  /// The total number of elementary operations, such as looking at one section
  /// of a buffer. An operation takes about a nanosecond.
  int64_t work = 4'000'000'000;
};

/// The result of a search.
struct CapacitySearchResult {
  enum class Status {
    /// `offsets`, which are empty otherwise, solve the problem.
    Fit,
    /// There is no solution within the capacity.
    Infeasible,
    /// The work limit was reached before the search was decided.
    Unknown
  };
  Status status = Status::Unknown;
  std::vector<int64_t> offsets;
  /// The number of states visited, and of elementary operations.
  int64_t nodes = 0, work = 0;
};

/// Searches for a solution of a well-formed problem within `capacity`; the
/// problem's own capacity is ignored. Honours alignments and fixed offsets. If
/// alignments differ within the problem, the search may miss solutions and then
/// returns Unknown, never Infeasible. Deterministic.
CapacitySearchResult solveAtCapacity(const AllocationProblem &problem,
                                     int64_t capacity,
                                     const CapacitySearchOptions &options = {});

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_CAPACITYSEARCH_H
