//===- PackInBestOrder.cpp - The best of several list heuristics ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ImproveOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <limits>

namespace mf::memory {

PackResult packInBestOrder(const PackProblem &problem, int64_t goodPeak,
                           WorkBudget &budget) {
  std::vector<int64_t> profile = getLiveProfile(problem);
  bool hasFixed = false, hasHint = false;
  for (const PackItem &item : problem.items) {
    hasFixed |= item.fixedOffset >= 0;
    hasHint |= item.hint >= 0;
  }
  PackResult best;
  if (hasFixed || !problem.walls.empty()) {
    WorkBudget unlimited(std::numeric_limits<int64_t>::max());
    best = *packInOrder(
        problem, getOrder(problem, PackOrder::Contention, profile), unlimited);
    best.packer = getName(PackOrder::Contention);
  } else {
    best = packInTime(problem);
    best.packer = "in time";
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
    result->packer = getName(order);
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
    constexpr int patience = 12;
    const std::string packer = result.packer + ", improved";
    improveOrder(
        problem.items, std::move(indices), std::move(result), goodPeak,
        patience,
        [&](llvm::ArrayRef<int32_t> order) {
          std::optional<PackResult> packed =
              packInOrder(problem, order, budget);
          if (packed)
            packed->packer = packer;
          return packed;
        },
        best);
  }
  return best;
}

} // namespace mf::memory
