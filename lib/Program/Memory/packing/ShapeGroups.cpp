//===- ShapeGroups.cpp - Buffers that are packed as a group ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ShapeGroups.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::memory {

static PackResult packGroup(const PackProblem &pack, GroupLayout layout,
                            WorkBudget &budget) {
  std::vector<int64_t> profile = getLiveProfile(pack);
  if (layout == GroupLayout::Tight)
    return packInBestOrder(pack, getLargest(profile), budget);
  WorkBudget unlimited(std::numeric_limits<int64_t>::max());
  PackResult result =
      *packInOrder(pack, getOrder(pack, PackOrder::End, profile), unlimited);
  if (layout == GroupLayout::LastHighest)
    for (const auto &[item, offset] : llvm::zip(pack.items, result.offsets))
      offset = result.peak - offset - item.size;
  return result;
}

ShapeGroups::ShapeGroups(const ShapeProblem &problem,
                         llvm::ArrayRef<int64_t> groupOf, GroupLayout layout,
                         WorkBudget &budget)
    : places(problem.items.size()) {
  grouped.numSections = problem.numSections;
  llvm::MapVector<int64_t, std::vector<int32_t>> groups;
  for (const auto &[index, item] : llvm::enumerate(problem.items)) {
    if (groupOf[index] >= 0 && item.size > 0) {
      groups[groupOf[index]].push_back(static_cast<int32_t>(index));
      continue;
    }
    places[index] = {static_cast<int32_t>(grouped.items.size()), 0};
    grouped.items.push_back(item);
  }
  for (auto &[group, members] : groups)
    addGroup(problem, std::move(members), layout, budget);
}

void ShapeGroups::addGroup(const ShapeProblem &problem,
                           std::vector<int32_t> members, GroupLayout layout,
                           WorkBudget &budget) {
  PackProblem pack;
  pack.numSections = problem.numSections;
  int32_t first = problem.numSections;
  for (int32_t member : members)
    first = std::min(first, problem.items[member].pieces.front().begin);
  int32_t last = 0;
  for (int32_t member : members) {
    const ShapePiece &piece = problem.items[member].pieces.front();
    PackItem item;
    item.begin = piece.begin - first;
    item.end = piece.end - first;
    item.size = problem.items[member].size;
    last = std::max(last, item.end);
    pack.items.push_back(item);
  }
  pack.numSections = last;
  PackResult result = packGroup(pack, layout, budget);
  for (const auto &[member, offset] : llvm::zip(members, result.offsets))
    places[member] = {static_cast<int32_t>(grouped.items.size()), offset};
  ShapeItem item;
  item.size = result.peak;
  addPieces(problem, members, item);
  grouped.items.push_back(std::move(item));
}

void ShapeGroups::addPieces(const ShapeProblem &problem,
                            llvm::ArrayRef<int32_t> members, ShapeItem &item) {
  std::vector<int32_t> bounds;
  for (int32_t member : members) {
    bounds.push_back(problem.items[member].pieces.front().begin);
    bounds.push_back(problem.items[member].pieces.front().end);
  }
  llvm::sort(bounds);
  bounds.erase(llvm::unique(bounds), bounds.end());
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    std::vector<AddressRange> ranges;
    for (int32_t member : members) {
      const ShapePiece &piece = problem.items[member].pieces.front();
      if (piece.begin <= bounds[i] && bounds[i] < piece.end)
        ranges.push_back({places[member].second,
                          places[member].second + problem.items[member].size});
    }
    if (ranges.empty())
      continue;
    mergeRanges(ranges);
    item.pieces.push_back(
        {bounds[i], bounds[i + 1], pool.emplace_back(std::move(ranges))});
  }
}

PackResult ShapeGroups::expand(const PackResult &result) const {
  PackResult expanded;
  expanded.peak = result.peak;
  for (auto [item, offset] : places)
    expanded.offsets.push_back(result.offsets[item] + offset);
  return expanded;
}

} // namespace mf::memory
