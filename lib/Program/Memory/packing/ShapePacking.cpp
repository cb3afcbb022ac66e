//===- ShapePacking.cpp - First fit of rigid shapes -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ShapePacking.h"
#include "ImproveOrder.h"
#include "ShapeOccupancy.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::memory {

void mergeRanges(std::vector<AddressRange> &ranges) {
  if (!llvm::is_sorted(ranges))
    std::sort(ranges.begin(), ranges.end());
  std::vector<AddressRange> merged;
  for (const AddressRange &range : ranges) {
    if (range.begin == range.end)
      continue;
    if (merged.empty() || merged.back().end < range.begin)
      merged.push_back(range);
    else
      merged.back().end = std::max(merged.back().end, range.end);
  }
  ranges = std::move(merged);
}

std::vector<int64_t> getLiveProfile(const ShapeProblem &problem) {
  std::vector<int64_t> profile(problem.numSections, 0);
  for (const ShapeItem &item : problem.items)
    for (const ShapePiece &piece : item.pieces) {
      int64_t bytes = 0;
      for (const AddressRange &range : piece.ranges)
        bytes += range.end - range.begin;
      for (int32_t section = piece.begin; section < piece.end; ++section)
        profile[section] += bytes;
    }
  return profile;
}

ShapePacker::ShapePacker(const ShapeProblem &problem)
    : problem(problem),
      occupancy(std::make_unique<ShapeOccupancy>(problem.numSections)) {}

ShapePacker::~ShapePacker() = default;

std::optional<PackResult> ShapePacker::packInOrder(const ShapeOrder &order,
                                                   WorkBudget &budget) {
  PackResult result;
  result.offsets.assign(problem.items.size(), 0);
  occupancy->clear();
  auto place = [&](int32_t index, int64_t offset) {
    const ShapeItem &item = problem.items[index];
    result.offsets[index] = offset;
    result.peak = std::max(result.peak, offset + item.size);
    occupancy->insert(item, offset, budget);
  };
  for (const auto &[index, item] : llvm::enumerate(problem.items))
    if (item.fixedOffset >= 0)
      place(static_cast<int32_t>(index), item.fixedOffset);
  for (int32_t index : order.items) {
    const ShapeItem &item = problem.items[index];
    if (item.fixedOffset >= 0 || item.size == 0)
      continue;
    std::optional<int64_t> offset;
    if (order.ceiling > 0 && item.kind == ShapeItem::Kind::Buffer)
      offset = occupancy->findHighest(item, order.ceiling, budget);
    place(index, offset ? *offset : occupancy->findLowest(item, budget));
    if (budget.isExhausted())
      return std::nullopt;
  }
  return result;
}

void ShapePacker::improve(const ShapeOrder &order, const PackResult &result,
                          int64_t goodPeak, WorkBudget &budget,
                          PackResult &best) {
  constexpr int patience = 8;
  improveOrder(
      problem.items, order.items, result, goodPeak, patience,
      [&](const std::vector<int32_t> &items) {
        return packInOrder({items, order.ceiling}, budget);
      },
      best);
}

} // namespace mf::memory
