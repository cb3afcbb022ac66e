//===- PackBest.cpp - The best of several list heuristics ---------------===//

#include "Packing.h"
#include "StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <limits>

namespace mf::memory {

namespace {

/// Repeats a list heuristic, each time moving the items that stick out above
/// `goodPeak` to the front of the order ("squeaky wheel": Joslin and Clements,
/// 1999), as long as it helps now and then.
void improveOrder(const PackProblem &problem, std::vector<int32_t> order,
                  PackResult current, int64_t goodPeak, WorkBudget &budget,
                  PackResult &best) {
  constexpr int patience = 12;
  for (int failures = 0; failures < patience && best.peak > goodPeak;
       ++failures) {
    int64_t threshold = std::max(goodPeak, current.peak - 1);
    moveToFront(order, [&](int32_t index) {
      return current.offsets[index] + problem.items[index].size > threshold;
    });
    std::optional<PackResult> result = packInOrder(problem, order, budget);
    if (!result)
      return;
    current = std::move(*result);
    if (current.peak < best.peak) {
      best = current;
      failures = -1;
    }
  }
}

} // namespace

PackResult packBest(const PackProblem &problem, int64_t goodPeak,
                    WorkBudget &budget) {
  std::vector<int64_t> profile = getLiveProfile(problem);
  bool hasFixed = false, hasHint = false;
  for (const PackItem &item : problem.items) {
    hasFixed |= item.fixedOffset >= 0;
    hasHint |= item.hint >= 0;
  }
  PackResult best;
  if (hasFixed || problem.wall) {
    WorkBudget unlimited(std::numeric_limits<int64_t>::max());
    best = *packInOrder(
        problem, getOrder(problem, PackOrder::Contention, profile), unlimited);
  } else {
    best = packInTime(problem);
  }

  llvm::SmallVector<PackOrder, 8> orders;
  if (hasHint)
    orders.push_back(PackOrder::Hint);
  orders.append({PackOrder::Contention, PackOrder::Size, PackOrder::Area,
                 PackOrder::Begin, PackOrder::Lifetime, PackOrder::End});
  std::vector<std::pair<PackResult, std::vector<int32_t>>> results;
  for (PackOrder order : orders) {
    if (best.peak <= goodPeak)
      return best;
    std::vector<int32_t> indices = getOrder(problem, order, profile);
    std::optional<PackResult> result = packInOrder(problem, indices, budget);
    if (!result)
      return best;
    if (result->peak < best.peak)
      best = *result;
    results.emplace_back(std::move(*result), std::move(indices));
  }
  for (size_t next :
       getSortedIndices<size_t>(results.size(), [&](size_t a, size_t b) {
         return results[a].first.peak < results[b].first.peak;
       })) {
    if (best.peak <= goodPeak || budget.isExhausted())
      return best;
    auto &[result, indices] = results[next];
    improveOrder(problem, std::move(indices), std::move(result), goodPeak,
                 budget, best);
  }
  return best;
}

} // namespace mf::memory
