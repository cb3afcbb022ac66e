//===- ShapePacking.cpp - First fit of rigid shapes -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ShapePacking.h"
#include "ImproveOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

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

  /// Frees all addresses.
  void clear() {
    for (std::vector<Ranges> *nodes : {&somewhere, &throughout})
      for (Ranges &ranges : *nodes)
        ranges.clear();
  }

  void insert(const ShapeItem &item, int64_t offset, WorkBudget &budget) {
    for (const ShapePiece &piece : item.pieces)
      for (const AddressRange &range : piece.ranges)
        insert(piece.begin, piece.end,
               {offset + range.begin, offset + range.end}, budget);
  }

  /// Returns the lowest offset at which the item shares no address with placed
  /// items.
  int64_t findLowest(const ShapeItem &item, WorkBudget &budget) {
    collectTaken(item);
    int64_t offset = 0;
    for (bool hasMoved = true; hasMoved;) {
      hasMoved = false;
      forEachTaken(
          budget, [&](const AddressRange &wanted, const Ranges &taken) {
            auto other = findEndAbove(taken, offset + wanted.begin);
            for (; other != taken.end() && other->begin < offset + wanted.end;
                 ++other) {
              offset = other->end - wanted.begin;
              hasMoved = true;
            }
            return true;
          });
    }
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
      forEachTaken(
          budget, [&](const AddressRange &wanted, const Ranges &taken) {
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

  void insert(int32_t begin, int32_t end, AddressRange range,
              WorkBudget &budget) {
    forEachNode(begin, end, [&](int32_t node) {
      add(throughout[node], range);
      add(somewhere[node], range);
      budget.spend(4);
    });
    // All ancestors of these nodes contain the first or the last section.
    int32_t low = begin + leaves, high = end - 1 + leaves;
    for (int32_t width = 2; low > 1; width *= 2) {
      low /= 2, high /= 2;
      auto addAbove = [&](int32_t node) {
        int32_t first = node * width - leaves;
        if (begin <= first && first + width <= end)
          return;
        add(somewhere[node], range);
        budget.spend(2);
      };
      addAbove(low);
      if (high != low)
        addAbove(high);
    }
  }

  /// Adds a range. Ranges that touch are merged.
  static void add(Ranges &ranges, AddressRange added) {
    auto first = std::lower_bound(ranges.begin(), ranges.end(), added.begin,
                                  [](const AddressRange &range, int64_t begin) {
                                    return range.end < begin;
                                  });
    auto last = first;
    for (; last != ranges.end() && last->begin <= added.end; ++last) {
      added.begin = std::min(added.begin, last->begin);
      added.end = std::max(added.end, last->end);
    }
    if (first == last) {
      ranges.insert(first, added);
      return;
    }
    *first = added;
    ranges.erase(first + 1, last);
  }

  /// The ranges that are occupied while a piece of the item is live.
  struct TakenRanges {
    llvm::ArrayRef<AddressRange> wanted;
    const Ranges *taken;
  };

  void collectTaken(const ShapeItem &item) {
    candidates.clear();
    for (const ShapePiece &piece : item.pieces)
      forEachNode(piece.begin, piece.end, [&](int32_t node) {
        if (!somewhere[node].empty())
          candidates.push_back({piece.ranges, &somewhere[node]});
        while ((node /= 2) >= 1)
          if (!throughout[node].empty())
            candidates.push_back({piece.ranges, &throughout[node]});
      });
  }

  /// Calls `visit` with each requested range and the ranges that are occupied
  /// at the same time, until it returns false.
  template <typename Visit> void forEachTaken(WorkBudget &budget, Visit visit) {
    int64_t count = 0;
    for (const TakenRanges &candidate : candidates) {
      count += static_cast<int64_t>(candidate.wanted.size());
      for (const AddressRange &wanted : candidate.wanted)
        if (!visit(wanted, *candidate.taken))
          return;
    }
    budget.spend(10 + count);
  }

  static Ranges::const_iterator findEndAbove(const Ranges &ranges,
                                             int64_t address) {
    return llvm::lower_bound(ranges, address,
                             [](const AddressRange &range, int64_t address) {
                               return range.end <= address;
                             });
  }

  int32_t leaves = 1;
  /// For each node, the ranges that are occupied in some of its sections, and
  /// in all of them.
  std::vector<Ranges> somewhere, throughout;
  std::vector<TakenRanges> candidates;
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
