//===- ShapePacking.h - First fit of rigid shapes ---------------*- C++ -*-===//
//
// Packing of items that take different address ranges at different times: a
// frame whose residuals come and go, the scratch of a task. Where an item has
// a hole, another one may be.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_SHAPEPACKING_H
#define MF_MEMORY_SHAPEPACKING_H

#include "Packing.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace mf::memory {

/// The memory of an item in sections [begin, end): disjoint ranges, ascending,
/// that count from the item's offset. The maker of the problem owns them.
struct ShapePiece {
  int32_t begin = 0;
  int32_t end = 0;
  llvm::ArrayRef<AddressRange> ranges;
};

/// Pieces in the order of time, without overlap.
struct ShapeItem {
  /// The item's role in a step, which decides when it is placed.
  enum class Kind { Frame, Scratch, Buffer };
  Kind kind = Kind::Buffer;
  std::vector<ShapePiece> pieces;
  /// The end of the highest range.
  int64_t size = 0;
  /// The offset it must have, or -1.
  int64_t fixedOffset = -1;
};

/// All sizes are multiples of the alignment, and all offsets will be.
struct ShapeProblem {
  std::vector<ShapeItem> items;
  int32_t numSections = 0;
};

/// Sorts the ranges, drops empty ones and joins those that touch or overlap.
void mergeRanges(std::vector<AddressRange> &ranges);

/// Bytes taken in each section.
std::vector<int64_t> getLiveProfile(const ShapeProblem &problem);

/// An order of the items by their numbers.
struct ShapeOrder {
  std::vector<int32_t> items;
  /// Buffers go to the highest place below it, if it is positive, so that what
  /// grows from the bottom and what comes from the top meet late.
  int64_t ceiling = 0;
};

class ShapeOccupancy;

/// Packs the items of one problem, any number of times.
class ShapePacker {
public:
  explicit ShapePacker(const ShapeProblem &problem);
  ~ShapePacker();

  /// Takes items in the given order, each to the lowest offset (see ShapeOrder)
  /// at which it shares no address with the fixed items and those placed
  /// before. Nothing if the budget ends before that is done.
  std::optional<PackResult> packInOrder(const ShapeOrder &order,
                                        WorkBudget &budget);

  /// Moves items that stick out of `result`, the packing of this order, to the
  /// front, as long as that helps; `best` becomes the best packing found.
  void improve(const ShapeOrder &order, const PackResult &result,
               int64_t goodPeak, WorkBudget &budget, PackResult &best);

private:
  const ShapeProblem &problem;
  std::unique_ptr<ShapeOccupancy> occupancy;
};

} // namespace mf::memory

#endif // MF_MEMORY_SHAPEPACKING_H
