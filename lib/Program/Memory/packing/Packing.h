//===- Packing.h - List heuristics on compressed lifetimes ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The heuristics that the planners of buffers and of steps share. They work on
// items whose lifetimes are ranges of sections. A section is a maximal span of
// time in which nothing begins or ends.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_PACKING_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_PACKING_H

#include "StableSort.h"
#include "mf/Program/Memory/AllocationProblem.h"
#include <algorithm>
#include <memory>
#include <optional>

namespace mf::memory {

/// An item that is live in sections [begin, end), begin < end.
struct PackItem {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t size = 0;
  int64_t alignment = 1;
  /// The offset that it must have, or -1.
  int64_t fixedOffset = -1;
  /// An offset that may be good, or -1.
  int64_t hint = -1;
};

struct PackProblem {
  std::vector<PackItem> items;
  int32_t numSections = 0;
  /// Addresses, ascending, that no item may straddle.
  std::vector<int64_t> walls;
};

struct PackResult {
  std::vector<int64_t> offsets;
  int64_t peak = 0;
  /// The name of the heuristic or search that found it.
  std::string packer;
};

/// The work in elementary operations that may still be spent.
class WorkBudget {
public:
  explicit WorkBudget(int64_t work) : work(work) {}
  void spend(int64_t count) { work -= count; }
  bool isExhausted() const { return work < 0; }
  int64_t getRest() const { return work; }

private:
  int64_t work;
};

/// Addresses [begin, end).
struct AddressRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const AddressRange &other) const {
    return begin == other.begin && end == other.end;
  }
  bool operator<(const AddressRange &other) const {
    return begin < other.begin || (begin == other.begin && end < other.end);
  }
};

/// Returns `value` rounded up to a multiple of `alignment`.
inline int64_t alignUp(int64_t value, int64_t alignment) {
  // A division takes far longer than the rest of what a search does at a node.
  if ((alignment & (alignment - 1)) == 0)
    return (value + alignment - 1) & -alignment;
  int64_t remainder = value % alignment;
  return remainder == 0 ? value : value + (alignment - remainder);
}

/// Returns the largest of some sizes or numbers, or 0 if there are none.
inline int64_t getLargest(llvm::ArrayRef<int64_t> values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// Converts lifetimes to sections. `times`, if given, is set to the first time
/// of each section.
PackProblem compressLifetimes(llvm::ArrayRef<AllocationBuffer> buffers,
                              std::vector<int64_t> *times = nullptr);

/// Returns the greatest common divisor of the alignments of all items with a
/// size; 1 if there are none.
int64_t getGranule(const PackProblem &problem);

/// Returns the sum of the sizes that are live in each section. Sizes must be
/// rounded up already.
std::vector<int64_t> getLiveProfile(const PackProblem &problem);

/// The orders in which items are placed.
enum class PackOrder {
  /// By the fullest section in which the item is live, then by size.
  Contention,
  Size,
  /// By the product of size and lifetime.
  Area,
  Lifetime,
  /// By begin. If several begin at the same time, the longest comes first.
  Begin,
  End,
  /// By hint. Items without a hint come last.
  Hint,
};

/// Returns the name of an order, for statistics.
llvm::StringRef getName(PackOrder order);

/// Returns the order as indices of items.
std::vector<int32_t> getOrder(const PackProblem &problem, PackOrder order,
                              llvm::ArrayRef<int64_t> profile);

class FixedItems;
class PlacedItems;

/// Packs the items of one problem any number of times.
class ItemPacker {
public:
  explicit ItemPacker(const PackProblem &problem);
  ~ItemPacker();

  /// Places items in the given order, each at the lowest address where it fits
  /// between the fixed items and those placed before. Returns nothing if the
  /// budget is spent before all items are placed.
  std::optional<PackResult> packInOrder(llvm::ArrayRef<int32_t> order,
                                        WorkBudget &budget);

private:
  const PackProblem &problem;
  std::unique_ptr<FixedItems> fixed;
  std::unique_ptr<PlacedItems> placed;
};

/// Visits items in order of time and gives each one the smallest free block
/// that holds it. Takes O(n log n). Does not support fixed items and walls.
PackResult packInTime(const PackProblem &problem);

/// Returns the best packing of several orders, each of which is improved by
/// moving items that exceed the peak to its front. Stops when the peak is at
/// most `goodPeak`. The first order is completed regardless of the budget.
PackResult packInBestOrder(const PackProblem &problem, int64_t goodPeak,
                           WorkBudget &budget);

/// Repeats a list heuristic, each time moving the items that exceed `goodPeak`
/// to the front of the order ("squeaky wheel": Joslin and Clements, 1999),
/// until `patience` successive attempts bring no improvement. `current` is the
/// first packing of the order. `pack(order)` packs again, and returns nothing
/// if the budget is spent.
template <typename Item, typename Pack>
void improveOrder(const std::vector<Item> &items, std::vector<int32_t> order,
                  PackResult current, int64_t goodPeak, int patience, Pack pack,
                  PackResult &best) {
  for (int failures = 0; failures < patience && best.peak > goodPeak;
       ++failures) {
    int64_t threshold = std::max(goodPeak, current.peak - 1);
    moveToFront(order, [&](int32_t index) {
      return current.offsets[index] + items[index].size > threshold;
    });
    std::optional<PackResult> result = pack(order);
    if (!result)
      return;
    current = std::move(*result);
    if (current.peak < best.peak) {
      best = current;
      failures = -1;
    }
  }
}

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_PACKING_H
