//===- PackSearch.h - Searches on compressed lifetimes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_SEARCH_PACKSEARCH_H
#define MF_LIB_PROGRAM_MEMORY_SEARCH_PACKSEARCH_H

#include "lib/Program/Memory/packing/Packing.h"
#include "mf/Program/Memory/AllocationProblem.h"
#include <limits>
#include <vector>

namespace mf::memory {

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

/// Searches for offsets of items within `capacity`, which heuristics miss.
/// `work` is the total number of elementary operations, such as looking at one
/// section of a buffer; an operation takes about a nanosecond. Honours
/// alignments, fixed offsets and walls. If alignments differ within the
/// problem, the search may miss solutions and then returns Unknown, never
/// Infeasible. Deterministic.
///
/// The search builds the packing from below. The skyline is the height that
/// each section of time has reached. A stretch of it that is lower than both
/// neighbours is a valley. In the section of a valley where the fewest buffers
/// can come next, the search branches over the next buffer, and over leaving
/// the bottom of the valley empty. Every solution in which no buffer can be
/// moved down is in exactly one branch. The search prunes a state by these
/// rules:
///
/// - a section whose remaining buffers do not fit above the skyline;
/// - the skyline raised to the lowest offset of any buffer left in a section
///   (the section inference of Moffitt, "MiniMalloc: a lightweight memory
///   allocator for hardware-accelerated machine learning", ASPLOS 2023);
/// - a buffer left that would fit into space left empty (dominance, ibid.);
/// - parts of time that no buffer left spans are solved one by one, so that a
///   failure of one does not redo the other;
/// - states that failed before, in a hash table.
///
/// Short runs with different rules for choosing sections and buffers, and with
/// random tie breaks, take turns with growing limits.
///
/// `horizon` is the number of items to consider from the first incomplete
/// section on. In a long problem, in which items that are far apart in time
/// hardly affect each other, a short horizon makes states cheap and keeps
/// related decisions close to each other.
CapacitySearchResult
searchWithin(const PackProblem &pack, int64_t capacity, int64_t work,
             int32_t horizon = std::numeric_limits<int32_t>::max());

/// Searches in successive windows of time, each with the items placed before as
/// obstacles and with a look-ahead. It is meant for long problems in which
/// items that are far apart in time hardly affect each other. Returns nothing
/// if a window has no fit.
std::optional<PackResult> packInWindows(const PackProblem &problem,
                                        int64_t capacity, WorkBudget &budget);

/// Places the items in slots: address ranges, each as large as its largest
/// item, and as many as items are live at one time. It is meant for items of a
/// few similar sizes, such as the frames of a pipeline's chunks. Returns
/// nothing if there are many sizes, fixed items or walls.
///
/// The items for the slots of the smallest size, such that as many slots as
/// possible are small, are found exactly as a flow in a network along time (as
/// in Arkin and Silverberg, "Scheduling jobs with fixed start and end times",
/// 1987). The others are assigned to larger slots in the same way.
std::optional<PackResult> packInSlots(const PackProblem &problem);

/// Runs packInBestOrder() and, if its peak is above `acceptablePeak`, packing
/// in slots, then a search in windows. `goodPeak` is a lower bound on the peak.
PackResult packThenSearch(const PackProblem &problem, int64_t goodPeak,
                          int64_t acceptablePeak, WorkBudget &heuristics,
                          WorkBudget &search);

/// A resumable form of packThenSearch(). It can be queried with another
/// acceptable peak, and then returns the same result as if that had been the
/// first query.
class GradualPacking {
public:
  /// `problem` must outlive this object.
  GradualPacking(const PackProblem &problem, int64_t goodPeak,
                 WorkBudget heuristics, WorkBudget search);

  /// Returns the first packing found that is acceptable, or the best one if
  /// there is none.
  const PackResult &get(int64_t acceptablePeak);

  /// Returns the remaining budget of the heuristics.
  WorkBudget getHeuristics() const { return heuristics; }
  WorkBudget getSearch() const { return search; }

private:
  const PackProblem &problem;
  /// No packing below this was found.
  int64_t low;
  WorkBudget heuristics, search;
  bool hasTriedSlots = false;
  int attempt = 0;
  /// The packings found, each better than the previous one.
  std::vector<PackResult> results;

  void keepIfBetter(std::optional<PackResult> result, llvm::StringRef packer);
  /// Tries the next way to pack. Returns false if there is none.
  bool advance();
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_SEARCH_PACKSEARCH_H
