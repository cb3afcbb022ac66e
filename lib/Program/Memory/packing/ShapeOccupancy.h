//===- ShapeOccupancy.h - Addresses that placed shapes occupy ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEOCCUPANCY_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEOCCUPANCY_H

#include "ShapePacking.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::memory {

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

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEOCCUPANCY_H
