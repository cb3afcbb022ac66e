//===- ShapeGroups.h - Buffers that are packed as a group -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Buffers that are prefetched for one task are live at about the same time. If
// they are packed by themselves first, they form one shape, which repeats for
// every micro-batch and leaves no gaps that only some buffers of another group
// fit into.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEGROUPS_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEGROUPS_H

#include "ShapePacking.h"
#include <deque>

namespace mf::memory {

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

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEGROUPS_H
