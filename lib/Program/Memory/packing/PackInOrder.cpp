//===- PackInOrder.cpp - First fit in a given order ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Packing.h"
#include "StableSort.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace mf::memory {

namespace {

struct AddressedItem {
  AddressRange address;
  int32_t begin;
  int32_t end;

  bool operator<(const AddressedItem &other) const {
    return std::tie(address, begin) < std::tie(other.address, other.begin);
  }
};

} // namespace

/// The items placed so far, indexed by lifetime and, once most of them are live
/// at the same time, by address.
class PlacedItems {
public:
  explicit PlacedItems(const PackProblem &problem)
      : items(problem.items),
        byBegin(getSortedIndices<int32_t>(items.size(),
                                          [&](int32_t a, int32_t b) {
                                            return items[a].begin <
                                                   items[b].begin;
                                          })),
        rank(items.size()), firstAtOrAfter(problem.numSections + 1, 0),
        addresses(items.size()), placed((items.size() + 63) / 64, 0) {
    while (leaves < problem.numSections)
      leaves *= 2;
    lastCovering.assign(2 * static_cast<size_t>(leaves), -1);
    for (size_t i = 0; i < byBegin.size(); ++i)
      rank[byBegin[i]] = static_cast<int32_t>(i);
    for (const PackItem &item : items)
      if (item.begin + 1 <= problem.numSections)
        ++firstAtOrAfter[item.begin + 1];
    std::partial_sum(firstAtOrAfter.begin(), firstAtOrAfter.end(),
                     firstAtOrAfter.begin());
  }

  /// Removes all items.
  void clear() {
    std::fill(placed.begin(), placed.end(), 0);
    std::fill(lastCovering.begin(), lastCovering.end(), -1);
    covering.clear();
    byAddress.clear();
    fresh.clear();
    areManyAlive = false;
  }

  void insert(int32_t index, int64_t offset) {
    const PackItem &item = items[index];
    addresses[index] = {offset, offset + item.size};
    fresh.push_back({addresses[index], item.begin, item.end});
    placed[rank[index] / 64] |= uint64_t(1) << (rank[index] % 64);
    int32_t low = item.begin + leaves, high = item.end + leaves;
    auto cover = [&](int32_t node) {
      covering.push_back({addresses[index], lastCovering[node]});
      lastCovering[node] = static_cast<int32_t>(covering.size()) - 1;
    };
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1)
        cover(low++);
      if (high & 1)
        cover(--high);
    }
  }

  /// Sets `conflicts` to the address ranges of the placed items that are live
  /// anywhere in [begin, end), ascending.
  void findConflicts(int32_t begin, int32_t end,
                     std::vector<AddressRange> &conflicts) {
    conflicts.clear();
    if (areManyAlive) {
      sortFresh();
      for (const AddressedItem &item : byAddress)
        if (item.begin < end && item.end > begin)
          conflicts.push_back(item.address);
    } else {
      forEachOverlapping(begin, end, [&](const AddressRange &address) {
        conflicts.push_back(address);
      });
      std::sort(conflicts.begin(), conflicts.end());
    }
    // The number of conflicts is likely similar for the next item.
    constexpr size_t sortCost = 8;
    areManyAlive =
        conflicts.size() * sortCost > byAddress.size() + fresh.size();
  }

private:
  /// A placed item at a node of the segment tree.
  struct Covering {
    AddressRange address;
    /// The item that was placed at the node before, or -1.
    int32_t previous;
  };

  /// Merges fresh items into the order by address.
  void sortFresh() {
    std::sort(fresh.begin(), fresh.end());
    std::vector<AddressedItem> merged(byAddress.size() + fresh.size());
    std::merge(byAddress.begin(), byAddress.end(), fresh.begin(), fresh.end(),
               merged.begin());
    byAddress = std::move(merged);
    fresh.clear();
  }

  /// Calls `visit` with the address of every placed item that is live anywhere
  /// in [begin, end): those live in the first section, and those that begin in
  /// a later one.
  template <typename Visit>
  void forEachOverlapping(int32_t begin, int32_t end, Visit visit) const {
    for (int32_t node = begin + leaves; node >= 1; node /= 2)
      for (int32_t entry = lastCovering[node]; entry >= 0;
           entry = covering[entry].previous)
        visit(covering[entry].address);
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
        visit(addresses[byBegin[i]]);
      ++i;
    }
  }

  const std::vector<PackItem> &items;
  std::vector<int32_t> byBegin;
  std::vector<int32_t> rank;
  /// For each section, the number of items that begin before it.
  std::vector<int32_t> firstAtOrAfter;
  /// The address of each placed item.
  std::vector<AddressRange> addresses;
  /// A bit for each placed item, by rank.
  std::vector<uint64_t> placed;
  int32_t leaves = 1;
  /// A segment tree over sections. Each placed item is stored at the nodes that
  /// make up its lifetime. Each node has the index of the item that was placed
  /// there last, or -1.
  std::vector<int32_t> lastCovering;
  std::vector<Covering> covering;
  /// The placed items: those in order of address, and those placed since the
  /// last sort.
  std::vector<AddressedItem> byAddress, fresh;
  bool areManyAlive = false;
};

namespace {

/// Consecutive fixed items in order of address.
struct FixedBlock {
  explicit FixedBlock(llvm::ArrayRef<AddressedItem> items)
      : first(items.front().address), last(items.back().address),
        end(first.begin) {
    for (const AddressedItem &item : items) {
      firstBegin = std::min(firstBegin, item.begin);
      lastBegin = std::max(lastBegin, item.begin);
      firstEnd = std::min(firstEnd, item.end);
      lastEnd = std::max(lastEnd, item.end);
      largestGap = std::max(largestGap, item.address.begin - end);
      end = std::max(end, item.address.end);
    }
  }

  /// Returns whether all of them are live somewhere in [begin, end) of time.
  bool areAllAlive(int32_t begin, int32_t end) const {
    return lastBegin < end && firstEnd > begin;
  }

  /// The lowest and the highest address range.
  AddressRange first, last;
  /// The highest end, and the largest gap between the items.
  int64_t end, largestGap = 0;
  /// The extremes of the lifetimes.
  int32_t firstBegin = std::numeric_limits<int32_t>::max(), lastBegin = 0;
  int32_t firstEnd = std::numeric_limits<int32_t>::max(), lastEnd = 0;
};

} // namespace

/// The fixed items, stored where conflicts with an item are found at lower
/// cost: in order of address if most are live at any time, otherwise among the
/// placed items by lifetime.
class FixedItems {
public:
  explicit FixedItems(const PackProblem &problem) {
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
          byLifetime.push_back(static_cast<int32_t>(i));
    }
    std::sort(items.begin(), items.end());
    for (size_t first = 0; first < items.size(); first += perBlock)
      blocks.emplace_back(
          llvm::ArrayRef(items).slice(first).take_front(perBlock));
  }

  /// Returns the fixed items that are found among the placed ones.
  llvm::ArrayRef<int32_t> getByLifetime() const { return byLifetime; }
  /// Returns the other fixed items in order of address.
  llvm::ArrayRef<AddressedItem> getByAddress() const { return items; }
  /// Returns the index of the first fixed item from `index` on that is live
  /// somewhere in [begin, end), or the number of items if there is none.
  size_t findNext(size_t index, int32_t begin, int32_t end) const {
    while (index < items.size()) {
      const FixedBlock &block = blocks[index / perBlock];
      if (block.lastEnd <= begin || block.firstBegin >= end)
        index = (index / perBlock + 1) * perBlock;
      else if (items[index].end <= begin || items[index].begin >= end)
        ++index;
      else
        return index;
    }
    return items.size();
  }
  /// Returns the block that begins with item `index`, or null.
  const FixedBlock *getBlockAt(size_t index) const {
    return index % perBlock == 0 && index < items.size()
               ? &blocks[index / perBlock]
               : nullptr;
  }
  /// Returns the index of the first item after the block of item `index`.
  size_t getEndOfBlock(size_t index) const {
    return std::min((index / perBlock + 1) * perBlock, items.size());
  }
  /// Returns the end of the highest item.
  int64_t getPeak() const { return peak; }

private:
  static constexpr size_t perBlock = 64;

  std::vector<int32_t> byLifetime;
  std::vector<AddressedItem> items;
  std::vector<FixedBlock> blocks;
  int64_t peak = 0;
};

namespace {

/// Finds the lowest offset at which an item fits between address ranges, which
/// must be visited in ascending order.
class GapFinder {
public:
  GapFinder(const PackItem &item, llvm::ArrayRef<int64_t> walls)
      : item(item), walls(walls) {}
  /// Returns true when the item fits below `range`.
  bool visit(const AddressRange &range) {
    // This check is made before rounding up, which only reduces the space.
    if (end + item.size <= range.begin &&
        getOffset() + item.size <= range.begin)
      return true;
    end = std::max(end, range.end);
    return false;
  }
  /// Visits all ranges of a block at once, if the item fits below none of them.
  bool skip(const FixedBlock &block) {
    if (std::max(block.first.begin - end, block.largestGap) >= item.size)
      return false;
    end = std::max(end, block.end);
    return true;
  }
  int64_t getOffset() const {
    int64_t offset = alignUp(end, item.alignment);
    for (int64_t wall : walls)
      if (offset < wall && offset + item.size > wall)
        offset = alignUp(wall, item.alignment);
    return offset;
  }

private:
  const PackItem &item;
  llvm::ArrayRef<int64_t> walls;
  /// The end of the ranges that were visited.
  int64_t end = 0;
};

/// The lowest offset at which an item fits, and the number of fixed items that
/// were passed to find it.
struct FoundOffset {
  int64_t offset;
  size_t passed;
};

} // namespace

/// Visits the conflicts and the fixed items, both in order of address.
static FoundOffset findOffset(const PackItem &item,
                              llvm::ArrayRef<AddressRange> conflicts,
                              const FixedItems &fixedItems,
                              llvm::ArrayRef<int64_t> walls) {
  llvm::ArrayRef<AddressedItem> fixed = fixedItems.getByAddress();
  GapFinder gap(item, walls);
  size_t next = 0, nextFixed = 0;
  bool found = false;
  while (!found) {
    nextFixed = fixedItems.findNext(nextFixed, item.begin, item.end);
    const bool hasFixed = nextFixed < fixed.size();
    const bool hasConflict = next < conflicts.size();
    if (const FixedBlock *block = fixedItems.getBlockAt(nextFixed);
        block && block->areAllAlive(item.begin, item.end) &&
        (!hasConflict || block->last < conflicts[next]) && gap.skip(*block))
      nextFixed = fixedItems.getEndOfBlock(nextFixed);
    else if (hasConflict &&
             (!hasFixed || conflicts[next] < fixed[nextFixed].address))
      found = gap.visit(conflicts[next++]);
    else if (hasFixed)
      found = gap.visit(fixed[nextFixed++].address);
    else
      break;
  }
  return {gap.getOffset(), nextFixed};
}

ItemPacker::ItemPacker(const PackProblem &problem)
    : problem(problem), fixed(std::make_unique<FixedItems>(problem)),
      placed(std::make_unique<PlacedItems>(problem)) {}

ItemPacker::~ItemPacker() = default;

std::optional<PackResult> ItemPacker::packInOrder(llvm::ArrayRef<int32_t> order,
                                                  WorkBudget &budget) {
  PackResult result;
  result.offsets.reserve(problem.items.size());
  for (const PackItem &item : problem.items)
    result.offsets.push_back(std::max<int64_t>(0, item.fixedOffset));
  placed->clear();
  for (int32_t index : fixed->getByLifetime())
    placed->insert(index, result.offsets[index]);
  result.peak = fixed->getPeak();
  std::vector<AddressRange> conflicts;
  for (int32_t index : order) {
    const PackItem &item = problem.items[index];
    if (item.fixedOffset >= 0 || item.size == 0)
      continue;
    placed->findConflicts(item.begin, item.end, conflicts);
    const FoundOffset found =
        findOffset(item, conflicts, *fixed, problem.walls);
    budget.spend(60 + 4 * static_cast<int64_t>(conflicts.size()) +
                 static_cast<int64_t>(found.passed) / 8);
    if (budget.isExhausted())
      return std::nullopt;
    result.offsets[index] = found.offset;
    result.peak = std::max(result.peak, found.offset + item.size);
    placed->insert(index, found.offset);
  }
  return result;
}

} // namespace mf::memory
