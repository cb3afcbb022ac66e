//===- ShapeOrder.h - Orders in which shapes are taken ----------*- C++ -*-===//

#ifndef MF_MEMORY_SHAPEORDER_H
#define MF_MEMORY_SHAPEORDER_H

#include "ShapePacking.h"

namespace mf::memory {

/// The kinds of items that come first; frames do, unless any kind may.
enum class KindOrder { Any, FramesFirst, ScratchFirst, ScratchLast };

/// The measure by which items of a kind are ordered.
enum class ShapeMeasure {
  Contention,
  Size,
  Area,
  Begin,
  Lifetime,
  End,
  Death,
  /// The large ones in order of their begin, then the others by lifetime.
  LargeInTime,
  /// The large ones, the last to end first, then the others by lifetime.
  LargeInReverse,
};

/// The rule by which an order is made.
struct ShapeRule {
  KindOrder kinds = KindOrder::ScratchLast;
  ShapeMeasure measure = ShapeMeasure::Contention;
  /// Buffers go to the highest place below the peak that is aimed at.
  bool isFromTop = false;
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

#endif // MF_MEMORY_SHAPEORDER_H
