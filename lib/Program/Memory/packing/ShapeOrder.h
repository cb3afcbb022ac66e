//===- ShapeOrder.h - Orders in which shapes are taken ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEORDER_H
#define MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEORDER_H

#include "ShapePacking.h"

namespace mf::memory {

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

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_PACKING_SHAPEORDER_H
