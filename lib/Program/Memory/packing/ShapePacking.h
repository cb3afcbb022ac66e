//===- ShapePacking.h - First fit of rigid shapes ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Packs items that occupy different address ranges at different times: a frame
// whose residuals are born and die, or the scratch memory of a task. Items may
// be placed in holes of others.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEPACKING_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEPACKING_H

#include "Packing.h"
#include "llvm/ADT/ArrayRef.h"
#include <deque>
#include <memory>

namespace mf::memory {

/// The memory of an item in sections [begin, end): disjoint ranges, ascending,
/// relative to the item's offset. Whoever builds the problem owns them.
struct ShapePiece {
  int32_t begin = 0;
  int32_t end = 0;
  llvm::ArrayRef<AddressRange> ranges;
};

/// The pieces in the order of time, without overlap.
struct ShapeItem {
  /// The item's role in a step, which affects when it is placed.
  enum class Kind { Frame, Scratch, Buffer };
  Kind kind = Kind::Buffer;
  std::vector<ShapePiece> pieces;
  /// The end of the highest range.
  int64_t size = 0;
  /// The offset that it must have, or -1.
  int64_t fixedOffset = -1;
};

/// All sizes must be multiples of the alignment. All offsets will be.
struct ShapeProblem {
  std::vector<ShapeItem> items;
  int32_t numSections = 0;
};

/// Sorts the ranges, removes empty ones and merges those that touch or overlap.
void mergeRanges(std::vector<AddressRange> &ranges);

/// Returns the bytes that are occupied in each section.
std::vector<int64_t> getLiveProfile(const ShapeProblem &problem);

/// An order of the items by their numbers.
struct ShapeOrder {
  std::vector<int32_t> items;
  /// If it is positive, buffers are placed at the highest possible address
  /// below it, so that items that grow from the bottom and those that come from
  /// the top meet late.
  int64_t ceiling = 0;
};

class ShapeOccupancy;

/// Packs the items of one problem any number of times.
class ShapePacker {
public:
  explicit ShapePacker(const ShapeProblem &problem);
  ~ShapePacker();

  /// Places items in the given order, each at the lowest offset (see
  /// ShapeOrder) at which it shares no address with the fixed items and those
  /// placed before. Returns nothing if the budget is spent before all items are
  /// placed.
  std::optional<PackResult> packInOrder(const ShapeOrder &order,
                                        WorkBudget &budget);

  /// Moves items that exceed the peak of `result`, the packing of this order,
  /// to the front, as long as that helps. `best` is set to the best packing
  /// found.
  void improve(const ShapeOrder &order, const PackResult &result,
               int64_t goodPeak, WorkBudget &budget, PackResult &best);

private:
  const ShapeProblem &problem;
  /// The addresses of the fixed items, with the work of each packing for them,
  /// and those of all items that were placed.
  std::unique_ptr<ShapeOccupancy> fixed, occupancy;
  WorkBudget fixedWork = WorkBudget(0);
};

/// The kinds of items that are placed first. These are frames, unless the order
/// does not depend on kinds.
enum class KindOrder { Any, FramesFirst, ScratchFirst, ScratchLast };

/// The measure by which items of one kind are ordered.
enum class ShapeMeasure {
  Contention,
  Size,
  Area,
  Begin,
  End,
  Death,
  /// Large items in order of their begin, then the others by lifetime.
  LargeInTime,
  /// Large items in descending order of their end, then the others by lifetime.
  LargeInReverse,
};

/// The rule by which an order is made.
struct ShapeRule {
  KindOrder kinds = KindOrder::ScratchLast;
  ShapeMeasure measure = ShapeMeasure::Contention;
  /// True if buffers are placed at the highest possible address below the
  /// desired peak.
  bool isFromTop = false;
};

/// Measures of an item, such as its fullest section and its size.
struct ItemMeasures {
  ShapeItem::Kind kind = ShapeItem::Kind::Buffer;
  int64_t contention = 0;
  int64_t size = 0;
  int64_t area = 0;
  int32_t begin = 0;
  int32_t end = 0;
};

/// Orders of the items of one problem.
class ShapeOrders {
public:
  ShapeOrders(const ShapeProblem &problem, int64_t goodPeak);

  ShapeOrder make(const ShapeRule &rule) const;

private:
  int64_t goodPeak;
  std::vector<ItemMeasures> measures;
};

/// The arrangement of the items of a group.
enum class GroupLayout {
  /// Items are packed as tightly as the heuristics can.
  Tight,
  /// Items that end last are lowest, so that memory is freed from the top down.
  LastLowest,
  /// Items that end last are highest.
  LastHighest
};

class ShapeGroups {
public:
  /// Items with the same group number become one item. Items with -1 stay
  /// separate. Each item of a group must have one piece with one range.
  ShapeGroups(const ShapeProblem &problem, llvm::ArrayRef<int64_t> groupOf,
              GroupLayout layout, WorkBudget &budget);
  // The pieces of the groups point into this object.
  ShapeGroups(const ShapeGroups &) = delete;
  ShapeGroups &operator=(const ShapeGroups &) = delete;

  const ShapeProblem &getProblem() const { return grouped; }
  /// Converts a packing of the groups to one of the items.
  PackResult expand(const PackResult &result) const;

private:
  void addGroup(const ShapeProblem &problem, std::vector<int32_t> members,
                GroupLayout layout, WorkBudget &budget);
  void addPieces(const ShapeProblem &problem, llvm::ArrayRef<int32_t> members,
                 ShapeItem &item);

  ShapeProblem grouped;
  /// For each item of the problem, the grouped item and the offset in it.
  std::vector<std::pair<int32_t, int64_t>> places;
  std::deque<std::vector<AddressRange>> pool;
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEPACKING_H
