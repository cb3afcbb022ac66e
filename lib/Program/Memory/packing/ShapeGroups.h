//===- ShapeGroups.h - Buffers that are packed together ---------*- C++ -*-===//
//
// Buffers that are prefetched for one task come and go together: packed by
// themselves first, they are one shape, which repeats from micro-batch to
// micro-batch and leaves no gaps that only some buffers of another one fit
// into.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_SHAPEGROUPS_H
#define MF_MEMORY_SHAPEGROUPS_H

#include "ShapePacking.h"
#include <deque>

namespace mf::memory {

/// The arrangement of the items of a group.
enum class GroupLayout {
  /// Items lie as tightly as heuristics get them.
  Tight,
  /// Items that end last are lowest, so that room comes free from the top down.
  LastLowest,
  /// Items that end last are highest.
  LastHighest
};

class ShapeGroups {
public:
  /// Items that have the same number become one; those with -1 stay alone.
  /// Items of a group have one piece with one range.
  ShapeGroups(const ShapeProblem &problem, llvm::ArrayRef<int64_t> groupOf,
              GroupLayout layout, WorkBudget &budget);
  // The groups' pieces point into it.
  ShapeGroups(const ShapeGroups &) = delete;
  ShapeGroups &operator=(const ShapeGroups &) = delete;

  const ShapeProblem &getProblem() const { return grouped; }
  /// A packing of the groups as one of the items.
  PackResult expand(const PackResult &result) const;

private:
  void addGroup(const ShapeProblem &problem, std::vector<int32_t> members,
                GroupLayout layout, WorkBudget &budget);
  void addPieces(const ShapeProblem &problem, llvm::ArrayRef<int32_t> members,
                 ShapeItem &item);

  ShapeProblem grouped;
  /// By item of the problem: the grouped item, and the offset in it.
  std::vector<std::pair<int32_t, int64_t>> places;
  std::deque<std::vector<AddressRange>> pool;
};

} // namespace mf::memory

#endif // MF_MEMORY_SHAPEGROUPS_H
