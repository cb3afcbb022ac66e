//===- Packing.h - List heuristics on compressed lifetimes ----*- C++ -*-===//
//
// The heuristics shared by the planner of buffers and the planner of steps, on
// items whose lifetimes are ranges of sections: a section is a maximal span of
// time in which nothing begins or ends.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_PACKING_H
#define MF_MEMORY_PACKING_H

#include "mf/Program/Memory/AllocationProblem.h"
#include <optional>

namespace mf::memory {

/// Alive in sections [begin, end), begin < end.
struct PackItem {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t size = 0;
  int64_t alignment = 1;
  /// The offset it must have, or -1.
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
};

/// Work in elementary steps that may still be spent.
class WorkBudget {
public:
  explicit WorkBudget(int64_t steps) : steps(steps) {}
  void spend(int64_t count) { steps -= count; }
  bool isExhausted() const { return steps < 0; }
  int64_t getRest() const { return steps; }

private:
  int64_t steps;
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

/// `value` rounded up to a multiple of `alignment`.
inline int64_t alignUp(int64_t value, int64_t alignment) {
  if (alignment == 1)
    return value;
  int64_t remainder = value % alignment;
  return remainder == 0 ? value : value + (alignment - remainder);
}

/// Numbers the points of time at which something begins or ends; `times`, if
/// given, gets the first time of each section.
PackProblem compressLifetimes(llvm::ArrayRef<AllocationBuffer> buffers,
                              std::vector<int64_t> *times = nullptr);

/// The greatest common divisor of the alignments of all items that have a size;
/// 1 if there are none.
int64_t getGranule(const PackProblem &problem);

/// Sum of the sizes alive in each section. Sizes must be rounded up already.
std::vector<int64_t> getLiveProfile(const PackProblem &problem);

/// Orders in which items are taken.
enum class PackOrder {
  /// By the fullest section that the item lives in, then by size.
  Contention,
  Size,
  /// By size times length of life.
  Area,
  Lifetime,
  /// By begin; of those that begin together the longest first.
  Begin,
  End,
  /// By hint, items without hint last.
  Hint,
};

/// The order as indices of items.
std::vector<int32_t> getOrder(const PackProblem &problem, PackOrder order,
                              llvm::ArrayRef<int64_t> profile);

/// Takes items in the given order, each to the lowest address where it fits
/// between the fixed items and those placed before. Nothing if the budget ends
/// before that is done.
std::optional<PackResult> packInOrder(const PackProblem &problem,
                                      llvm::ArrayRef<int32_t> order,
                                      WorkBudget &budget);

/// Goes through time and gives each item that begins the smallest free block
/// that holds it. O(n log n). Knows neither fixed items nor walls.
PackResult packInTime(const PackProblem &problem);

/// The best of several orders, each improved by moving to its front what
/// sticks out. Stops when the peak is at most `goodPeak`. A first order is
/// finished whatever it costs.
PackResult packInBestOrder(const PackProblem &problem, int64_t goodPeak,
                           WorkBudget &budget);

} // namespace mf::memory

#endif // MF_MEMORY_PACKING_H
