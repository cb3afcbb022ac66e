//===- ElementwiseLoops.cpp - Vectorised elementwise loops ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementwiseLoops.h"
#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/ElementwiseLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "ElementwiseFunctions-inl.h"
#include "VectorPairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

template <typename T, typename Function>
HWY_INLINE void mapBinary(Advance advance, const void *xs, const void *ys,
                          void *zs, int64_t count, Function function) {
  const T *x = static_cast<const T *>(xs);
  const T *y = static_cast<const T *>(ys);
  T *z = static_cast<T *>(zs);
  if (advance == Advance::Both)
    return mapVectors<T>(count, function, z, x, y);
  const auto fixed = broadcast(advance == Advance::OnlyFirst ? *y : *x);
  if (advance == Advance::OnlyFirst)
    mapVectors<T>(
        count, [&](FloatVector a) HWY_ATTR { return function(a, fixed); }, z,
        x);
  else
    mapVectors<T>(
        count, [&](FloatVector b) HWY_ATTR { return function(fixed, b); }, z,
        y);
}

template <typename T>
void unary(UnaryOp op, const void *xs, void *ys, int64_t count, float number) {
  const T *from = static_cast<const T *>(xs);
  T *to = static_cast<T *>(ys);
  const auto scalar = hn::Set(floats, number);
  switch (op) {
#define MF_UNARY(Op, kernel, result)                                           \
  case UnaryOp::Op:                                                            \
    return mapVectors<T>(                                                      \
        count, [&](FloatVector x) HWY_ATTR { return result; }, to, from);
#define MF_SCALAR MF_UNARY
#include "ElementwiseOps.def"
  }
}

template <typename T>
void binary(BinaryOp op, Advance advance, const void *xs, const void *ys,
            void *zs, int64_t count) {
  switch (op) {
#define MF_BINARY(Op, kernel, result)                                          \
  case BinaryOp::Op:                                                           \
    return mapBinary<T>(advance, xs, ys, zs, count,                            \
                        [](FloatVector x, FloatVector y)                       \
                            HWY_ATTR { return result; });
#define MF_BACKWARD(Op, kernel, result)                                        \
  case BinaryOp::Op:                                                           \
    return mapBinary<T>(advance, xs, ys, zs, count,                            \
                        [](FloatVector dy, FloatVector x)                      \
                            HWY_ATTR { return result; });
#include "ElementwiseOps.def"
  }
}

/// The order in which elements of two types are converted: that of bf16 where
/// the other one is f32.
template <typename From, typename To>
using OrderOfCast = std::conditional_t<
    std::is_same_v<From, float>, To,
    std::conditional_t<std::is_same_v<To, float>, From, float>>;

template <typename From, typename To>
void castFloats(const void *x, void *y, int64_t count) {
  mapVectors<OrderOfCast<From, To>>(
      count, [](FloatVector value) HWY_ATTR { return value; },
      static_cast<To *>(y), static_cast<const From *>(x));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runUnaryLoop(UnaryOp op, DType type, const void *x, void *y, int64_t count,
                  float scalar) {
  MF_LOOP_OF(type, unary)(op, x, y, count, scalar);
}

void runBinaryLoop(BinaryOp op, Advance advance, DType type, const void *x,
                   const void *y, void *z, int64_t count) {
  MF_LOOP_OF(type, binary)(op, advance, x, y, z, count);
}

namespace {

template <typename From, typename To> To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value))
      return 0;
    // 2^31 and 2^63 are exact in f32, the largest integers below are not.
    const float limit = -static_cast<float>(std::numeric_limits<To>::min());
    if (value >= limit)
      return std::numeric_limits<To>::max();
    if (value < -limit)
      return std::numeric_limits<To>::min();
  }
  return static_cast<To>(value);
}

template <typename From, typename To>
void convertAll(const void *xs, void *ys, int64_t count) {
  const From *x = static_cast<const From *>(xs);
  To *y = static_cast<To *>(ys);
  for (int64_t i = 0; i < count; ++i)
    y[i] = convert<From, To>(x[i]);
}

/// Calls `function` with a null pointer to the C++ type of i32, i64 or f32.
template <typename Function> void dispatchWide(DType type, Function function) {
  if (type == DType::I32)
    return function(static_cast<int32_t *>(nullptr));
  if (type == DType::I64)
    return function(static_cast<int64_t *>(nullptr));
  return function(static_cast<float *>(nullptr));
}

void convertWide(DType from, DType to, const void *x, void *y, int64_t count) {
  dispatchWide(from, [&](auto *one) {
    dispatchWide(to, [&](auto *other) {
      convertAll<std::remove_pointer_t<decltype(one)>,
                 std::remove_pointer_t<decltype(other)>>(x, y, count);
    });
  });
}

} // namespace

void runCastLoop(DType from, DType to, const void *x, void *y, int64_t count) {
  if (isFloat(from) && isFloat(to))
    return MF_LOOP_OF_TWO(from, to, castFloats)(x, y, count);
  bool narrowFrom = from == DType::BF16 || from == DType::F16;
  bool narrowTo = to == DType::BF16 || to == DType::F16;
  if (!narrowFrom && !narrowTo)
    return convertWide(from, to, x, y, count);
  // bf16 and f16 are converted from and to integers through f32, a block at a
  // time.
  constexpr int64_t block = 1024;
  float wide[block];
  for (int64_t i = 0; i < count; i += block) {
    int64_t n = std::min(block, count - i);
    const char *source = static_cast<const char *>(x) + i * getBytes(from);
    char *target = static_cast<char *>(y) + i * getBytes(to);
    if (narrowFrom) {
      MF_LOOP_OF_TWO(from, DType::F32, castFloats)(source, wide, n);
      convertWide(DType::F32, to, wide, target, n);
    } else {
      convertWide(from, DType::F32, source, wide, n);
      MF_LOOP_OF_TWO(DType::F32, to, castFloats)(wide, target, n);
    }
  }
}

} // namespace mf
#endif // HWY_ONCE
