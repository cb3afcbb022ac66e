//===- PackSearch.h - Searches on compressed lifetimes --------*- C++ -*-===//

#ifndef MF_MEMORY_PACKSEARCH_H
#define MF_MEMORY_PACKSEARCH_H

#include "lib/Program/Memory/packing/Packing.h"
#include "mf/Program/Memory/CapacitySearch.h"
#include <limits>

namespace mf::memory {

/// The result of a search; `offsets` are valid only if it is a fit.
struct SearchResult {
  CapacitySearchResult::Status status = CapacitySearchResult::Status::Unknown;
  std::vector<int64_t> offsets;
  int64_t nodes = 0;
  int64_t work = 0;
};

/// solveAtCapacity() on items; also honours walls. `horizon`: how many items
/// to look at from the first section not yet complete. In a long problem, where
/// what happens now matters little to what happens much later, a short horizon
/// makes states cheap and keeps decisions that affect each other together.
SearchResult
searchWithin(const PackProblem &pack, int64_t capacity, int64_t work,
             int32_t horizon = std::numeric_limits<int32_t>::max());

/// Searches window after window of time, each with the items placed before as
/// obstacles and with a look ahead. Made for long problems in which items that
/// are far apart in time matter little to each other. Gives up where a window
/// has no fit.
std::optional<PackResult> packInWindows(const PackProblem &problem,
                                        int64_t capacity, WorkBudget &budget);

/// Puts the items into slots: address ranges, each as large as its largest item
/// and as many as items are alive at one time. Made for items of a few similar
/// sizes, such as the frames of a pipeline's chunks. Nothing if there are many
/// sizes, or fixed items or walls.
///
/// The items for the slots of the smallest size, such that as many slots as
/// possible are small, are found exactly: they are the flow of a network along
/// time (as in Arkin and Silverberg, "Scheduling jobs with fixed start and end
/// times", 1987). The rest goes to larger slots in the same way.
std::optional<PackResult> packInSlots(const PackProblem &problem);

/// packInBestOrder(), and if that leaves its peak above `acceptablePeak` slots,
/// then a search in windows. `goodPeak` is a lower bound on the peak.
PackResult packThenSearch(const PackProblem &problem, int64_t goodPeak,
                          int64_t acceptablePeak, WorkBudget &heuristics,
                          WorkBudget &search);

} // namespace mf::memory

#endif // MF_MEMORY_PACKSEARCH_H
