//===- ShapePacking.cpp - First fit of rigid shapes -----------------------===//

#include "ShapePacking.h"
#include "ImproveOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::memory {

namespace {

/// The addresses taken, as a segment tree over sections, so that what lives
/// long costs little more than what lives short.
class Occupancy {
public:
  explicit Occupancy(int32_t numSections) {
    while (leaves < numSections)
      leaves *= 2;
    somewhere.resize(2 * static_cast<size_t>(leaves));
    throughout.resize(2 * static_cast<size_t>(leaves));
  }

  void insert(const ShapeItem &item, int64_t offset, WorkBudget &budget) {
    for (const ShapePiece &piece : item.pieces)
      for (const AddressRange &range : piece.ranges)
        insert(piece.begin, piece.end,
               {offset + range.begin, offset + range.end}, budget);
  }

  /// An offset at which the item shares no address with what is there: the
  /// highest one below `ceiling` if there is such, else the lowest.
  int64_t findOffset(const ShapeItem &item, int64_t ceiling,
                     WorkBudget &budget) {
    forbidden.clear();
    for (const ShapePiece &piece : item.pieces)
      forEachNode(piece.begin, piece.end, [&](int32_t node) {
        forbid(somewhere[node], piece.ranges);
        while ((node /= 2) >= 1)
          forbid(throughout[node], piece.ranges);
      });
    std::sort(forbidden.begin(), forbidden.end());
    budget.spend(20 + 2 * static_cast<int64_t>(forbidden.size()));
    // Offsets in (begin, end) of a range are forbidden.
    int64_t offset = 0, highest = -1;
    int64_t limit = ceiling - item.size;
    for (const AddressRange &range : forbidden) {
      if (range.begin >= offset) {
        if (offset > limit)
          break;
        highest = std::min(range.begin, limit);
      }
      offset = std::max(offset, range.end);
    }
    if (offset <= limit)
      return limit;
    return highest >= 0 ? highest : findLowest();
  }

private:
  using Ranges = std::vector<AddressRange>;

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
      for (; node >= 1; node /= 2) {
        add(somewhere[node], range);
        budget.spend(2);
      }
    });
  }

  /// Keeps ranges that touch as one.
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

  void forbid(const Ranges &taken, llvm::ArrayRef<AddressRange> wanted) {
    for (const AddressRange &range : wanted)
      for (const AddressRange &other : taken)
        if (other.end > range.begin)
          forbidden.push_back(
              {other.begin - range.end, other.end - range.begin});
  }

  int64_t findLowest() const {
    int64_t offset = 0;
    for (const AddressRange &range : forbidden) {
      if (range.begin >= offset)
        break;
      offset = std::max(offset, range.end);
    }
    return offset;
  }

  int32_t leaves = 1;
  /// By node: taken in some of its sections, and in all of them.
  std::vector<Ranges> somewhere, throughout;
  Ranges forbidden;
};

/// A measure of an item: of its fullest section, its size, ...
struct ItemMeasures {
  ShapeItem::Kind kind = ShapeItem::Kind::Buffer;
  int64_t contention = 0;
  int64_t size = 0;
  int64_t area = 0;
  int32_t begin = 0;
  int32_t end = 0;
};

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

/// Which kinds of items come first; frames do, unless any kind may.
enum class KindOrder { Any, ScratchFirst, ScratchLast };

/// What decides among items of a kind.
enum class ShapeMeasure { Contention, Size, Area, Begin, Lifetime, End, Death };

ShapeOrder getOrder(const std::vector<ItemMeasures> &measures,
                    ShapeMeasure measure, KindOrder kinds, int64_t ceiling) {
  auto getKindRank = [&](int32_t index) {
    bool isScratch = measures[index].kind == ShapeItem::Kind::Scratch;
    if (kinds == KindOrder::Any ||
        measures[index].kind == ShapeItem::Kind::Frame)
      return 0;
    return isScratch == (kinds == KindOrder::ScratchLast) ? 2 : 1;
  };
  auto getKey = [&](int32_t index) -> std::pair<int64_t, int64_t> {
    const ItemMeasures &item = measures[index];
    switch (measure) {
    case ShapeMeasure::Contention:
      return {-item.contention, -item.size};
    case ShapeMeasure::Size:
      return {-item.size, item.begin};
    case ShapeMeasure::Area:
      return {-item.area, item.begin};
    case ShapeMeasure::Lifetime:
      return {item.begin - item.end, -item.size};
    case ShapeMeasure::Begin:
      return {item.begin, -item.end};
    case ShapeMeasure::End:
      return {item.end, item.begin};
    case ShapeMeasure::Death:
      return {-item.end, item.begin};
    }
    return {};
  };
  ShapeOrder order;
  order.ceiling = ceiling;
  order.items =
      getSortedIndices<int32_t>(measures.size(), [&](int32_t a, int32_t b) {
        return std::make_pair(getKindRank(a), getKey(a)) <
               std::make_pair(getKindRank(b), getKey(b));
      });
  return order;
}

/// The orders to try, most promising first.
std::vector<ShapeOrder> getOrders(const ShapeProblem &problem,
                                  int64_t goodPeak) {
  std::vector<int64_t> profile = getLiveProfile(problem);
  std::vector<ItemMeasures> measures;
  for (const ShapeItem &item : problem.items)
    measures.push_back(measure(item, profile));
  std::vector<ShapeOrder> orders;
  for (KindOrder kinds :
       {KindOrder::ScratchLast, KindOrder::ScratchFirst, KindOrder::Any})
    for (int64_t ceiling : {int64_t(0), goodPeak})
      for (ShapeMeasure measure :
           {ShapeMeasure::Contention, ShapeMeasure::Size, ShapeMeasure::Area,
            ShapeMeasure::Begin, ShapeMeasure::Lifetime, ShapeMeasure::End,
            ShapeMeasure::Death})
        orders.push_back(getOrder(measures, measure, kinds, ceiling));
  return orders;
}

} // namespace

void mergeRanges(std::vector<AddressRange> &ranges) {
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

std::optional<PackResult> packShapesInOrder(const ShapeProblem &problem,
                                            const ShapeOrder &order,
                                            WorkBudget &budget) {
  PackResult result;
  result.offsets.assign(problem.items.size(), 0);
  Occupancy occupancy(problem.numSections);
  auto place = [&](int32_t index, int64_t offset) {
    const ShapeItem &item = problem.items[index];
    result.offsets[index] = offset;
    result.peak = std::max(result.peak, offset + item.size);
    occupancy.insert(item, offset, budget);
  };
  for (const auto &[index, item] : llvm::enumerate(problem.items))
    if (item.fixedOffset >= 0)
      place(index, item.fixedOffset);
  for (int32_t index : order.items) {
    const ShapeItem &item = problem.items[index];
    if (item.fixedOffset >= 0 || item.size == 0)
      continue;
    bool isFromTop = order.ceiling > 0 && item.kind == ShapeItem::Kind::Buffer;
    place(index,
          occupancy.findOffset(item, isFromTop ? order.ceiling : 0, budget));
    if (budget.isExhausted())
      return std::nullopt;
  }
  return result;
}

PackResult packShapes(const ShapeProblem &problem, int64_t goodPeak,
                      WorkBudget &budget) {
  WorkBudget unlimited(std::numeric_limits<int64_t>::max());
  std::vector<ShapeOrder> orders = getOrders(problem, goodPeak);
  std::vector<PackResult> results;
  size_t best = 0;
  for (const ShapeOrder &order : orders) {
    std::optional<PackResult> result =
        packShapesInOrder(problem, order, results.empty() ? unlimited : budget);
    if (!result)
      return results[best];
    results.push_back(std::move(*result));
    if (results.back().peak < results[best].peak)
      best = results.size() - 1;
    if (results[best].peak <= goodPeak)
      return results[best];
  }
  PackResult improved = results[best];
  for (size_t next :
       getSortedIndices<size_t>(results.size(), [&](size_t a, size_t b) {
         return results[a].peak < results[b].peak;
       })) {
    if (improved.peak <= goodPeak || budget.isExhausted())
      break;
    constexpr int patience = 8;
    const int64_t ceiling = orders[next].ceiling;
    improveOrder(
        problem.items, std::move(orders[next].items), std::move(results[next]),
        goodPeak, patience,
        [&](const std::vector<int32_t> &order) {
          return packShapesInOrder(problem, {order, ceiling}, budget);
        },
        improved);
  }
  return improved;
}

} // namespace mf::memory
