//===- ShapeOrder.cpp - Orders in which shapes are taken ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ShapeOrder.h"
#include "StableSort.h"
#include <algorithm>
#include <array>
#include <tuple>

namespace mf::memory {

namespace {

ItemMeasures measure(const ShapeItem &item,
                     const std::vector<int64_t> &profile) {
  ItemMeasures measures;
  measures.kind = item.kind;
  measures.size = item.size;
  if (item.pieces.empty())
    return measures;
  measures.begin = item.pieces.front().begin;
  measures.end = item.pieces.back().end;
  for (const ShapePiece &piece : item.pieces)
    for (int32_t section = piece.begin; section < piece.end; ++section)
      measures.contention = std::max(measures.contention, profile[section]);
  measures.area = item.size * (measures.end - measures.begin);
  return measures;
}

/// Items whose size is at least this fraction of the desired peak are large.
constexpr int64_t largePart = 16;
constexpr int64_t largePartInReverse = 32;

using OrderKey = std::array<int64_t, 3>;

/// A task's scratch comes before buffers that are copied back for the task,
/// which may end slightly later.
int64_t getEndInReverse(const ItemMeasures &item) {
  int64_t length = item.end - item.begin;
  return item.kind == ShapeItem::Kind::Scratch ? item.end + length : item.end;
}

OrderKey getKey(const ItemMeasures &item, ShapeMeasure measure,
                int64_t goodPeak) {
  switch (measure) {
  case ShapeMeasure::Contention:
    return {-item.contention, -item.size, 0};
  case ShapeMeasure::Size:
    return {-item.size, item.begin, 0};
  case ShapeMeasure::Area:
    return {-item.area, item.begin, 0};
  case ShapeMeasure::Begin:
    return {item.begin, -item.end, 0};
  case ShapeMeasure::End:
    return {item.end, item.begin, 0};
  case ShapeMeasure::Death:
    return {-item.end, item.begin, 0};
  case ShapeMeasure::LargeInTime:
    if (item.size >= goodPeak / largePart)
      return {0, item.begin, -item.end};
    return {1, item.begin - item.end, -item.size};
  case ShapeMeasure::LargeInReverse:
    if (item.size >= goodPeak / largePartInReverse)
      return {0, -getEndInReverse(item), item.begin};
    return {1, item.begin - item.end, -item.size};
  }
  return {};
}

int getKindRank(ShapeItem::Kind kind, KindOrder kinds) {
  if (kinds == KindOrder::Any || kind == ShapeItem::Kind::Frame)
    return 0;
  if (kinds == KindOrder::FramesFirst)
    return 1;
  bool isScratch = kind == ShapeItem::Kind::Scratch;
  return isScratch == (kinds == KindOrder::ScratchLast) ? 2 : 1;
}

} // namespace

ShapeOrders::ShapeOrders(const ShapeProblem &problem, int64_t goodPeak)
    : goodPeak(goodPeak) {
  std::vector<int64_t> profile = getLiveProfile(problem);
  for (const ShapeItem &item : problem.items)
    measures.push_back(measure(item, profile));
}

ShapeOrder ShapeOrders::make(const ShapeRule &rule) const {
  ShapeOrder order;
  order.ceiling = rule.isFromTop ? goodPeak : 0;
  std::vector<std::pair<int, OrderKey>> keys;
  for (const ItemMeasures &item : measures)
    keys.push_back({getKindRank(item.kind, rule.kinds),
                    getKey(item, rule.measure, goodPeak)});
  order.items = getSortedIndices<int32_t>(
      keys.size(), [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
  return order;
}

} // namespace mf::memory
