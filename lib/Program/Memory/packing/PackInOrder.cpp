//===- PackInOrder.cpp - First fit in a given order ---------------------===//

#include "Packing.h"
#include "StableSort.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace mf::memory {

namespace {

/// The items already placed, by lifetime.
class PlacedItems {
public:
  PlacedItems(const PackProblem &problem)
      : items(problem.items),
        byBegin(getSortedIndices<int32_t>(items.size(),
                                          [&](int32_t a, int32_t b) {
                                            return items[a].begin <
                                                   items[b].begin;
                                          })),
        rank(items.size()), firstAtOrAfter(problem.numSections + 1, 0),
        placed((items.size() + 63) / 64, 0) {
    while (leaves < problem.numSections)
      leaves *= 2;
    covering.resize(2 * static_cast<size_t>(leaves));
    for (size_t i = 0; i < byBegin.size(); ++i)
      rank[byBegin[i]] = static_cast<int32_t>(i);
    for (const PackItem &item : items)
      if (item.begin + 1 <= problem.numSections)
        ++firstAtOrAfter[item.begin + 1];
    std::partial_sum(firstAtOrAfter.begin(), firstAtOrAfter.end(),
                     firstAtOrAfter.begin());
  }

  void insert(int32_t index) {
    const PackItem &item = items[index];
    placed[rank[index] / 64] |= uint64_t(1) << (rank[index] % 64);
    int32_t low = item.begin + leaves, high = item.end + leaves;
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1)
        covering[low++].push_back(index);
      if (high & 1)
        covering[--high].push_back(index);
    }
  }

  /// Calls `visit` for every placed item alive somewhere in [begin, end): those
  /// alive in the first section, and those that begin in a later one.
  template <typename Visit>
  void forEachOverlapping(int32_t begin, int32_t end, Visit visit) const {
    for (int32_t node = begin + leaves; node >= 1; node /= 2)
      for (int32_t index : covering[node])
        visit(index);
    size_t last = end < static_cast<int32_t>(firstAtOrAfter.size())
                      ? firstAtOrAfter[end]
                      : items.size();
    for (size_t i = firstAtOrAfter[begin + 1]; i < last;) {
      uint64_t word = placed[i / 64] >> (i % 64);
      if (word == 0) {
        i = (i / 64 + 1) * 64;
        continue;
      }
      i += __builtin_ctzll(word);
      if (i < last)
        visit(byBegin[i]);
      ++i;
    }
  }

private:
  const std::vector<PackItem> &items;
  std::vector<int32_t> byBegin;
  std::vector<int32_t> rank;
  /// By section: how many items begin before it.
  std::vector<int32_t> firstAtOrAfter;
  /// By rank, a bit for each placed item.
  std::vector<uint64_t> placed;
  int32_t leaves = 1;
  /// Segment tree over sections: each placed item at the nodes that make it up.
  std::vector<std::vector<int32_t>> covering;
};

/// An item with the offset that it must have.
struct FixedItem {
  AddressRange address;
  int32_t begin;
  int32_t end;
};

/// The fixed items, kept where finding those in conflict with an item costs
/// less: in order of address if most are alive at any time, else among the
/// placed items, by lifetime.
class FixedItems {
public:
  FixedItems(const PackProblem &problem, PlacedItems &placed) {
    int64_t lifetimes = 0;
    for (const PackItem &item : problem.items) {
      if (item.fixedOffset < 0 || item.size == 0)
        continue;
      lifetimes += item.end - item.begin;
      peak = std::max(peak, item.fixedOffset + item.size);
      items.push_back({{item.fixedOffset, item.fixedOffset + item.size},
                       item.begin,
                       item.end});
    }
    constexpr int64_t manyTimesThoseAlive = 16;
    if (static_cast<int64_t>(items.size()) * problem.numSections >
        manyTimesThoseAlive * lifetimes) {
      items.clear();
      for (size_t i = 0; i < problem.items.size(); ++i)
        if (problem.items[i].fixedOffset >= 0 && problem.items[i].size > 0)
          placed.insert(static_cast<int32_t>(i));
    }
    std::sort(
        items.begin(), items.end(), [](const FixedItem &a, const FixedItem &b) {
          return std::tie(a.address, a.begin) < std::tie(b.address, b.begin);
        });
  }

  /// Fixed items in order of address.
  llvm::ArrayRef<FixedItem> getByAddress() const { return items; }
  /// End of the highest one.
  int64_t getPeak() const { return peak; }

private:
  std::vector<FixedItem> items;
  int64_t peak = 0;
};

/// Finds the lowest offset at which an item fits between address ranges that
/// are visited in order of their begin.
class GapFinder {
public:
  GapFinder(const PackItem &item, llvm::ArrayRef<int64_t> walls)
      : item(item), walls(walls) {
    moveTo(0);
  }
  /// Returns true when the item fits below `range`.
  bool visit(const AddressRange &range) {
    if (offset + item.size <= range.begin)
      return true;
    if (range.end > offset)
      moveTo(range.end);
    return false;
  }
  int64_t getOffset() const { return offset; }

private:
  void moveTo(int64_t address) {
    offset = alignUp(address, item.alignment);
    for (int64_t wall : walls)
      if (offset < wall && offset + item.size > wall)
        offset = alignUp(wall, item.alignment);
  }

  const PackItem &item;
  llvm::ArrayRef<int64_t> walls;
  int64_t offset = 0;
};

} // namespace

std::optional<PackResult> packInOrder(const PackProblem &problem,
                                      llvm::ArrayRef<int32_t> order,
                                      WorkBudget &budget) {
  PackResult result;
  result.offsets.reserve(problem.items.size());
  for (const PackItem &item : problem.items)
    result.offsets.push_back(std::max<int64_t>(0, item.fixedOffset));
  PlacedItems placed(problem);
  FixedItems fixedItems(problem, placed);
  llvm::ArrayRef<FixedItem> fixed = fixedItems.getByAddress();
  result.peak = fixedItems.getPeak();
  std::vector<AddressRange> conflicts;
  for (int32_t index : order) {
    const PackItem &item = problem.items[index];
    if (item.fixedOffset >= 0 || item.size == 0)
      continue;
    conflicts.clear();
    placed.forEachOverlapping(item.begin, item.end, [&](int32_t other) {
      int64_t offset = result.offsets[other];
      conflicts.push_back({offset, offset + problem.items[other].size});
    });
    std::sort(conflicts.begin(), conflicts.end());

    // Merge the conflicts with the fixed items, both in order of address.
    GapFinder gap(item, problem.walls);
    size_t next = 0, nextFixed = 0;
    bool found = false;
    while (!found) {
      while (nextFixed < fixed.size() && (fixed[nextFixed].end <= item.begin ||
                                          fixed[nextFixed].begin >= item.end))
        ++nextFixed;
      bool hasFixed = nextFixed < fixed.size();
      if (next < conflicts.size() &&
          (!hasFixed || conflicts[next] < fixed[nextFixed].address))
        found = gap.visit(conflicts[next++]);
      else if (hasFixed)
        found = gap.visit(fixed[nextFixed++].address);
      else
        break;
    }
    budget.spend(60 + 4 * static_cast<int64_t>(conflicts.size()) +
                 static_cast<int64_t>(nextFixed) / 8);
    if (budget.isExhausted())
      return std::nullopt;
    result.offsets[index] = gap.getOffset();
    result.peak = std::max(result.peak, gap.getOffset() + item.size);
    placed.insert(index);
  }
  return result;
}

} // namespace mf::memory
