//===- ShapePacking.cpp - First fit of rigid shapes -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ShapePacking.h"
#include "StableSort.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <limits>

namespace mf::memory {

//===----------------------------------------------------------------------===//
// Addresses that placed shapes occupy
//===----------------------------------------------------------------------===//

/// The occupied addresses as a segment tree over sections, so that shapes with
/// long lifetimes cost little more than those with short ones.
class ShapeOccupancy {
  using Ranges = std::vector<AddressRange>;

public:
  explicit ShapeOccupancy(int32_t numSections) {
    while (leaves < numSections)
      leaves *= 2;
    somewhere.resize(2 * static_cast<size_t>(leaves));
    throughout.resize(2 * static_cast<size_t>(leaves));
  }

  void insert(const ShapeItem &item, int64_t offset, WorkBudget &budget) {
    for (const ShapePiece &piece : item.pieces)
      insert(piece, offset, budget);
  }

  /// Returns the lowest offset at which the item shares no address with placed
  /// items.
  int64_t findLowest(const ShapeItem &item, WorkBudget &budget) {
    collectTaken(item);
    int64_t offset = 0;
    // A pass ends at the candidates that have been free since the last move. It
    // costs as much as a visit of all.
    size_t numLeft = candidates.size();
    do {
      budget.spend(10 + numWanted);
      const size_t end = numLeft;
      numLeft = 0;
      for (size_t i = 0; i < (numLeft > 0 ? candidates.size() : end); ++i)
        if (moveAbove(candidates[i], offset))
          numLeft = i + 1;
    } while (numLeft > 0);
    return offset;
  }

  /// Returns the highest such offset at which the item ends at or below
  /// `ceiling`, or nothing if there is none.
  std::optional<int64_t> findHighest(const ShapeItem &item, int64_t ceiling,
                                     WorkBudget &budget) {
    collectTaken(item);
    int64_t offset = ceiling - item.size;
    for (bool hasMoved = true; hasMoved && offset >= 0;) {
      hasMoved = false;
      const bool fits =
          forEachTaken([&](const AddressRange &wanted, const Ranges &taken) {
            // Ranges that begin below the end of the requested one are visited
            // from the highest down.
            auto other =
                llvm::lower_bound(taken, offset + wanted.end,
                                  [](const AddressRange &range, int64_t end) {
                                    return range.begin < end;
                                  });
            while (other != taken.begin() &&
                   std::prev(other)->end > offset + wanted.begin) {
              --other;
              offset = other->begin - wanted.end;
              hasMoved = true;
            }
            return offset >= 0;
          });
      if (fits)
        budget.spend(10 + numWanted);
    }
    if (offset < 0)
      return std::nullopt;
    return offset;
  }

private:
  /// Visits the nodes that make up sections [begin, end).
  template <typename Visit>
  void forEachNode(int32_t begin, int32_t end, Visit visit) {
    int32_t low = begin + leaves, high = end + leaves;
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1)
        visit(low++);
      if (high & 1)
        visit(--high);
    }
  }

  void insert(const ShapePiece &piece, int64_t offset, WorkBudget &budget) {
    const int32_t begin = piece.begin, end = piece.end;
    const auto count = static_cast<int64_t>(piece.ranges.size());
    forEachNode(begin, end, [&](int32_t node) {
      add(throughout[node], piece.ranges, offset);
      add(somewhere[node], piece.ranges, offset);
      budget.spend(4 * count);
    });
    // All ancestors of these nodes contain the first or the last section.
    int32_t low = begin + leaves, high = end - 1 + leaves;
    for (int32_t width = 2; low > 1; width *= 2) {
      low /= 2, high /= 2;
      auto addAbove = [&](int32_t node) {
        int32_t first = node * width - leaves;
        if (begin <= first && first + width <= end)
          return;
        add(somewhere[node], piece.ranges, offset);
        budget.spend(2 * count);
      };
      addAbove(low);
      if (high != low)
        addAbove(high);
    }
  }

  /// Adds the ranges of a piece at an offset.
  void add(Ranges &ranges, llvm::ArrayRef<AddressRange> added, int64_t offset) {
    // Ranges that touch are merged, and those below and above stay.
    auto first =
        llvm::lower_bound(ranges, offset + added.front().begin,
                          [](const AddressRange &range, int64_t begin) {
                            return range.end < begin;
                          });
    const auto last =
        std::upper_bound(first, ranges.end(), offset + added.back().end,
                         [](int64_t end, const AddressRange &range) {
                           return end < range.begin;
                         });
    merged.clear();
    auto append = [&](AddressRange range) {
      if (merged.empty() || merged.back().end < range.begin)
        merged.push_back(range);
      else
        merged.back().end = std::max(merged.back().end, range.end);
    };
    auto own = first;
    for (const AddressRange &range : added) {
      const AddressRange moved = {offset + range.begin, offset + range.end};
      for (; own != last && own->begin < moved.begin; ++own)
        append(*own);
      append(moved);
    }
    for (; own != last; ++own)
      append(*own);
    const auto numReplaced = std::min<ptrdiff_t>(
        last - first, static_cast<ptrdiff_t>(merged.size()));
    first = std::copy_n(merged.begin(), numReplaced, first);
    ranges.insert(ranges.erase(first, last), merged.begin() + numReplaced,
                  merged.end());
  }

  /// The ranges that are occupied while a piece of the item is live.
  struct TakenRanges {
    llvm::ArrayRef<AddressRange> wanted;
    const Ranges *taken;
  };

  void collectTaken(const ShapeItem &item) {
    candidates.clear();
    numWanted = 0;
    for (const ShapePiece &piece : item.pieces) {
      auto collect = [&](const Ranges &taken) {
        if (taken.empty())
          return;
        candidates.push_back({piece.ranges, &taken});
        numWanted += static_cast<int64_t>(piece.ranges.size());
      };
      forEachNode(piece.begin, piece.end, [&](int32_t node) {
        collect(somewhere[node]);
        while ((node /= 2) >= 1)
          collect(throughout[node]);
      });
    }
  }

  /// Calls `visit` with each requested range and the ranges that are occupied
  /// at the same time, until it returns false. Returns whether it never did.
  template <typename Visit> bool forEachTaken(Visit visit) {
    for (const TakenRanges &candidate : candidates)
      for (const AddressRange &wanted : candidate.wanted)
        if (!visit(wanted, *candidate.taken))
          return false;
    return true;
  }

  /// Moves the offset up, range by range, until each requested range is free of
  /// those taken at the time when it is reached. Returns whether it moved.
  static bool moveAbove(const TakenRanges &candidate, int64_t &offset) {
    const int64_t before = offset;
    auto other = candidate.taken->begin();
    const auto end = candidate.taken->end();
    for (const AddressRange &wanted : candidate.wanted) {
      // Requested ranges ascend, and so do the taken ones that are at them.
      other = findEndAbove(other, end, offset + wanted.begin);
      for (; other != end && other->begin < offset + wanted.end; ++other)
        offset = other->end - wanted.begin;
      if (other == end)
        break;
    }
    return offset != before;
  }

  /// Returns the first range that ends above the address. Takes the logarithm
  /// of the distance from `first`.
  static Ranges::const_iterator findEndAbove(Ranges::const_iterator first,
                                             Ranges::const_iterator last,
                                             int64_t address) {
    for (ptrdiff_t step = 1; last - first > step; step *= 2) {
      if (first[step - 1].end > address) {
        last = first + step;
        break;
      }
      first += step;
    }
    return std::lower_bound(first, last, address,
                            [](const AddressRange &range, int64_t address) {
                              return range.end <= address;
                            });
  }

  int32_t leaves = 1;
  /// For each node, the ranges that are occupied in some of its sections, and
  /// in all of them.
  std::vector<Ranges> somewhere, throughout;
  std::vector<TakenRanges> candidates;
  /// The number of requested ranges of all candidates.
  int64_t numWanted = 0;
  Ranges merged;
};

//===----------------------------------------------------------------------===//
// First fit of rigid shapes
//===----------------------------------------------------------------------===//

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
      fixed(std::make_unique<ShapeOccupancy>(problem.numSections)) {
  for (const ShapeItem &item : problem.items)
    if (item.fixedOffset >= 0)
      fixed->insert(item, item.fixedOffset, fixedWork);
  occupancy = std::make_unique<ShapeOccupancy>(*fixed);
}

ShapePacker::~ShapePacker() = default;

std::optional<PackResult> ShapePacker::packInOrder(const ShapeOrder &order,
                                                   WorkBudget &budget) {
  PackResult result;
  result.offsets.assign(problem.items.size(), 0);
  auto place = [&](int32_t index, int64_t offset) {
    result.offsets[index] = offset;
    result.peak = std::max(result.peak, offset + problem.items[index].size);
  };
  for (const auto &[index, item] : llvm::enumerate(problem.items))
    if (item.fixedOffset >= 0)
      place(static_cast<int32_t>(index), item.fixedOffset);
  *occupancy = *fixed;
  budget.spend(-fixedWork.getRest());
  for (int32_t index : order.items) {
    const ShapeItem &item = problem.items[index];
    if (item.fixedOffset >= 0 || item.size == 0)
      continue;
    std::optional<int64_t> offset;
    if (order.ceiling > 0 && item.kind == ShapeItem::Kind::Buffer)
      offset = occupancy->findHighest(item, order.ceiling, budget);
    place(index, offset ? *offset : occupancy->findLowest(item, budget));
    occupancy->insert(item, result.offsets[index], budget);
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

namespace {

ItemMeasures measure(const ShapeItem &item,
                     const std::vector<int64_t> &profile) {
  ItemMeasures measures;
  measures.kind = item.kind;
  measures.size = item.size;
  if (item.pieces.empty())
    return measures;
  measures.begin = item.pieces.front().begin;
  measures.end = item.pieces.back().end;
  for (const ShapePiece &piece : item.pieces)
    for (int32_t section = piece.begin; section < piece.end; ++section)
      measures.contention = std::max(measures.contention, profile[section]);
  measures.area = item.size * (measures.end - measures.begin);
  return measures;
}

/// Items whose size is at least this fraction of the desired peak are large.
constexpr int64_t largePart = 16;
constexpr int64_t largePartInReverse = 32;

using OrderKey = std::array<int64_t, 3>;

/// A task's scratch comes before buffers that are copied back for the task,
/// which may end slightly later.
int64_t getEndInReverse(const ItemMeasures &item) {
  int64_t length = item.end - item.begin;
  return item.kind == ShapeItem::Kind::Scratch ? item.end + length : item.end;
}

OrderKey getKey(const ItemMeasures &item, ShapeMeasure measure,
                int64_t goodPeak) {
  switch (measure) {
  case ShapeMeasure::Contention:
    return {-item.contention, -item.size, 0};
  case ShapeMeasure::Size:
    return {-item.size, item.begin, 0};
  case ShapeMeasure::Area:
    return {-item.area, item.begin, 0};
  case ShapeMeasure::Begin:
    return {item.begin, -item.end, 0};
  case ShapeMeasure::End:
    return {item.end, item.begin, 0};
  case ShapeMeasure::Death:
    return {-item.end, item.begin, 0};
  case ShapeMeasure::LargeInTime:
    if (item.size >= goodPeak / largePart)
      return {0, item.begin, -item.end};
    return {1, item.begin - item.end, -item.size};
  case ShapeMeasure::LargeInReverse:
    if (item.size >= goodPeak / largePartInReverse)
      return {0, -getEndInReverse(item), item.begin};
    return {1, item.begin - item.end, -item.size};
  }
  return {};
}

int getKindRank(ShapeItem::Kind kind, KindOrder kinds) {
  if (kinds == KindOrder::Any || kind == ShapeItem::Kind::Frame)
    return 0;
  if (kinds == KindOrder::FramesFirst)
    return 1;
  bool isScratch = kind == ShapeItem::Kind::Scratch;
  return isScratch == (kinds == KindOrder::ScratchLast) ? 2 : 1;
}

} // namespace

ShapeOrders::ShapeOrders(const ShapeProblem &problem, int64_t goodPeak)
    : goodPeak(goodPeak) {
  std::vector<int64_t> profile = getLiveProfile(problem);
  for (const ShapeItem &item : problem.items)
    measures.push_back(measure(item, profile));
}

ShapeOrder ShapeOrders::make(const ShapeRule &rule) const {
  ShapeOrder order;
  order.ceiling = rule.isFromTop ? goodPeak : 0;
  std::vector<std::pair<int, OrderKey>> keys;
  for (const ItemMeasures &item : measures)
    keys.push_back({getKindRank(item.kind, rule.kinds),
                    getKey(item, rule.measure, goodPeak)});
  order.items = getSortedIndices<int32_t>(
      keys.size(), [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
  return order;
}

static PackResult packGroup(const PackProblem &pack, GroupLayout layout,
                            WorkBudget &budget) {
  std::vector<int64_t> profile = getLiveProfile(pack);
  if (layout == GroupLayout::Tight)
    return packInBestOrder(pack, getLargest(profile), budget);
  WorkBudget unlimited(std::numeric_limits<int64_t>::max());
  PackResult result = *ItemPacker(pack).packInOrder(
      getOrder(pack, PackOrder::End, profile), unlimited);
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
