//===- FirstFit.cpp - Fast allocation heuristics --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/FirstFit.h"
#include "Packing.h"
#include <algorithm>

namespace mf::memory {

Placement solveFirstFit(const AllocationProblem &problem,
                        const FirstFitOptions &options) {
  // Rounding sizes up avoids gaps that are too small or misaligned for use.
  PackProblem pack = compressLifetimes(problem.buffers);
  int64_t granule = getGranule(pack);
  for (PackItem &item : pack.items)
    item.size = alignUp(item.size, granule);
  int64_t goodPeak = std::max(options.goodPeak, problem.maxLive().bytes);
  WorkBudget budget(options.work);
  PackResult result = packInBestOrder(pack, alignUp(goodPeak, granule), budget);
  int64_t peak = problem.getPeak(result.offsets);
  return {std::move(result.offsets), peak};
}

} // namespace mf::memory
