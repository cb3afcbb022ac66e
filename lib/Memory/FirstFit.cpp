//===- FirstFit.cpp - Fast allocation heuristics --------------------------===//

#include "mf/Memory/FirstFit.h"
#include "Packing.h"
#include <algorithm>

namespace mf::memory {

Placement solveFirstFit(const AllocationProblem &problem,
                        const FirstFitOptions &options) {
  PackProblem pack = compressLifetimes(problem.buffers);
  WorkBudget budget(options.work);
  int64_t goodPeak = std::max(options.goodPeak, problem.maxLive().bytes);
  PackResult result = packBest(pack, goodPeak, budget);
  return {std::move(result.offsets), result.peak};
}

} // namespace mf::memory
