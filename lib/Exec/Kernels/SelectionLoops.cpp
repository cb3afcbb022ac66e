//===- SelectionLoops.cpp - Search for the largest elements ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SelectionLoops.h"
#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/SelectionLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "Simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

using BitsVector = hn::Vec<BitsTag>;

/// Returns the orders of numbers. The bits of negative numbers are in reverse
/// order, and positive numbers follow them.
HWY_INLINE BitsVector getOrders(FloatVector x) {
  const auto sign = hn::Set(floatBits, 0x80000000u);
  auto isZero = hn::Eq(x, hn::Zero(floats));
  auto bits = hn::BitCast(floatBits, hn::IfThenZeroElse(isZero, x));
  auto isNegative = hn::Ne(hn::And(bits, sign), hn::Zero(floatBits));
  auto orders = hn::IfThenElse(isNegative, hn::Not(bits), hn::Or(bits, sign));
  auto isNaN = hn::RebindMask(floatBits, hn::IsNaN(x));
  return hn::IfThenElse(isNaN, hn::Set(floatBits, 0xffffffffu), orders);
}

template <typename T>
void orders(const void *xs, uint32_t *orders, int64_t count) {
  const T *x = static_cast<const T *>(xs);
  const int64_t lanes = getLanes();
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(getOrders(load(x + i)), floatBits, orders + i);
  if (i == count)
    return;
  uint32_t last[maxLanes];
  hn::StoreU(getOrders(loadTail(x + i, count - i)), floatBits, last);
  std::copy(last, last + (count - i), orders + i);
}

/// Inserts an element after those that are not smaller. The last one is
/// dropped.
HWY_INLINE void insert(SortedElement element, SortedElement *best, int64_t k) {
  int64_t place = k - 1;
  for (; place > 0 && best[place - 1].order < element.order; --place)
    best[place] = best[place - 1];
  best[place] = element;
}

template <typename T>
void topk(const void *xs, int64_t count, SortedElement *best, int64_t k) {
  const T *x = static_cast<const T *>(xs);
  // These entries are smaller than any element.
  std::fill(best, best + k, SortedElement{0, 0});
  const int64_t lanes = getLanes();
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    const auto orders = getOrders(part.get(x + i));
    const auto last = hn::Set(floatBits, best[k - 1].order);
    uint8_t maskBits[sizeof(uint64_t)] = {};
    hn::StoreMaskBits(floatBits, hn::Gt(orders, last), maskBits);
    uint64_t larger;
    std::memcpy(&larger, maskBits, sizeof(larger));
    // A tail has zeros after its elements.
    if (count - i < lanes)
      larger &= (uint64_t{1} << (count - i)) - 1;
    if (larger == 0)
      return;
    uint32_t each[maxLanes];
    hn::StoreU(orders, floatBits, each);
    for (; larger != 0; larger &= larger - 1) {
      const int lane = llvm::countr_zero(larger);
      if (each[lane] > best[k - 1].order)
        insert({each[lane], static_cast<uint32_t>(i + lane)}, best, k);
    }
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runOrderLoop(DType type, const void *x, uint32_t *orders, int64_t count) {
  if (isFloat(type))
    return MF_LOOP_OF(type, orders)(x, orders, count);
  const auto *bits = static_cast<const uint32_t *>(x);
  for (int64_t i = 0; i < count; ++i)
    orders[i] = bits[i] ^ 0x80000000u;
}

void runTopkLoop(DType type, const void *x, int64_t count, SortedElement *best,
                 int64_t k) {
  MF_LOOP_OF(type, topk)(x, count, best, k);
}

} // namespace mf
#endif // HWY_ONCE
