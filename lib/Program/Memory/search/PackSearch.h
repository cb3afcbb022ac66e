//===- PackSearch.h - Searches on compressed lifetimes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_SEARCH_PACKSEARCH_H
#define MF_LIB_PROGRAM_MEMORY_SEARCH_PACKSEARCH_H

#include "lib/Program/Memory/packing/Packing.h"
#include "mf/Program/Memory/CapacitySearch.h"
#include <limits>

namespace mf::memory {

/// Like solveAtCapacity() on items, but also honours walls. `horizon` is the
/// number of items to consider from the first incomplete section on. In a long
/// problem, in which items that are far apart in time hardly affect each other,
/// a short horizon makes states cheap and keeps related decisions close to each
/// other.
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

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_SEARCH_PACKSEARCH_H
