//===- PackInBestOrder.cpp - The best of several list heuristics ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Packing.h"
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
  const bool isInTime = !hasFixed && problem.walls.empty();
  if (isInTime) {
    best = packInTime(problem);
    best.packer = "in time";
    if (best.peak <= goodPeak)
      return best;
  }
  ItemPacker packer(problem);
  std::optional<PackResult> byContention;
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  WorkBudget forContention(unlimited);
  if (!isInTime) {
    byContention = packer.packInOrder(
        getOrder(problem, PackOrder::Contention, profile), forContention);
    byContention->packer = getName(PackOrder::Contention);
    best = *byContention;
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
    std::optional<PackResult> result;
    if (order == PackOrder::Contention && byContention) {
      budget.spend(unlimited - forContention.getRest());
      if (!budget.isExhausted())
        result = byContention;
    } else {
      result = packer.packInOrder(indices, budget);
    }
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
    const std::string name = result.packer + ", improved";
    improveOrder(
        problem.items, std::move(indices), std::move(result), goodPeak,
        patience,
        [&](llvm::ArrayRef<int32_t> order) {
          std::optional<PackResult> packed = packer.packInOrder(order, budget);
          if (packed)
            packed->packer = name;
          return packed;
        },
        best);
  }
  return best;
}

} // namespace mf::memory
