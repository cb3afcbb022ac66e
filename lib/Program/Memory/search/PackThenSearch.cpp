//===- PackWell.cpp - Heuristics, slots and search in turn ----------------===//

#include "PackSearch.h"
#include <algorithm>

namespace mf::memory {

PackResult packThenSearch(const PackProblem &problem, int64_t goodPeak,
                          int64_t acceptablePeak, WorkBudget &heuristics,
                          WorkBudget &search) {
  PackResult best = packInBestOrder(problem, goodPeak, heuristics);
  if (best.peak <= acceptablePeak)
    return best;
  if (std::optional<PackResult> result = packInSlots(problem))
    if (result->peak < best.peak)
      best = std::move(*result);
  // At the bound, which often is possible; then halving the range between.
  constexpr int attempts = 7;
  int64_t low = goodPeak;
  for (int attempt = 0; attempt < attempts && !search.isExhausted();
       ++attempt) {
    if (best.peak <= acceptablePeak || low >= best.peak)
      break;
    int64_t capacity = attempt == 0 ? low : low + (best.peak - low) / 2;
    std::optional<PackResult> result = packInWindows(problem, capacity, search);
    if (result && result->peak < best.peak)
      best = std::move(*result);
    else
      low = capacity + 1;
  }
  return best;
}

} // namespace mf::memory
