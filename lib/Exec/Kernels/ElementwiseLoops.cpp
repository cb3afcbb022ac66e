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
HWY_INLINE void mapUnary(const void *x, void *y, int64_t count,
                         Function function) {
  mapVectors<T>(count, function, static_cast<T *>(y),
                static_cast<const T *>(x));
}

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
void unaryOfType(UnaryOp op, const void *x, void *y, int64_t count,
                 float scalar) {
  auto value = hn::Set(floats, scalar);
  switch (op) {
  case UnaryOp::Neg:
    return mapUnary<T>(x, y, count, Neg());
  case UnaryOp::Sqrt:
    return mapUnary<T>(x, y, count, Sqrt());
  case UnaryOp::Reciprocal:
    return mapUnary<T>(x, y, count, Reciprocal());
  case UnaryOp::Silu:
    return mapUnary<T>(x, y, count, Silu());
  case UnaryOp::Gelu:
    return mapUnary<T>(x, y, count, Gelu());
  case UnaryOp::FastGelu:
    return mapUnary<T>(x, y, count, FastGelu());
  case UnaryOp::AddScalar:
    return mapUnary<T>(x, y, count, AddScalar{value});
  case UnaryOp::MulScalar:
    return mapUnary<T>(x, y, count, MulScalar{value});
  case UnaryOp::ClampMin:
    return mapUnary<T>(x, y, count, ClampMin{value});
  case UnaryOp::ClampMax:
    return mapUnary<T>(x, y, count, ClampMax{value});
  case UnaryOp::Sigmoid:
    return mapUnary<T>(x, y, count, Sigmoid());
  case UnaryOp::Exp:
    return mapUnary<T>(x, y, count, Exp());
  case UnaryOp::Log:
    return mapUnary<T>(x, y, count, Log());
  case UnaryOp::Softplus:
    return mapUnary<T>(x, y, count, Softplus());
  case UnaryOp::SqrtSoftplus:
    return mapUnary<T>(x, y, count, SqrtSoftplus());
  case UnaryOp::GreaterThan:
    return mapUnary<T>(x, y, count, GreaterThan{value});
  case UnaryOp::GreaterEqual:
    return mapUnary<T>(x, y, count, GreaterEqual{value});
  case UnaryOp::LessThan:
    return mapUnary<T>(x, y, count, LessThan{value});
  case UnaryOp::NotEqual:
    return mapUnary<T>(x, y, count, NotEqual{value});
  case UnaryOp::Remainder:
    return mapUnary<T>(x, y, count, Remainder{value});
  case UnaryOp::FloorDivide:
    return mapUnary<T>(x, y, count, FloorDivide{value});
  }
}

template <typename T>
void binaryOfType(BinaryOp op, Advance advance, const void *x, const void *y,
                  void *z, int64_t count) {
  switch (op) {
  case BinaryOp::Add:
    return mapBinary<T>(advance, x, y, z, count, Add());
  case BinaryOp::Maximum:
    return mapBinary<T>(advance, x, y, z, count, LargerOf());
  case BinaryOp::Sub:
    return mapBinary<T>(advance, x, y, z, count, Sub());
  case BinaryOp::Mul:
    return mapBinary<T>(advance, x, y, z, count, Mul());
  case BinaryOp::Div:
    return mapBinary<T>(advance, x, y, z, count, Div());
  case BinaryOp::GreaterEqual:
    return mapBinary<T>(advance, x, y, z, count, GreaterEqualOf());
  case BinaryOp::SiluBackward:
    return mapBinary<T>(advance, x, y, z, count, SiluBackward());
  case BinaryOp::GeluBackward:
    return mapBinary<T>(advance, x, y, z, count, GeluBackward());
  case BinaryOp::FastGeluBackward:
    return mapBinary<T>(advance, x, y, z, count, FastGeluBackward());
  case BinaryOp::SigmoidBackward:
    return mapBinary<T>(advance, x, y, z, count, SigmoidBackward());
  case BinaryOp::SqrtSoftplusBackward:
    return mapBinary<T>(advance, x, y, z, count, SqrtSoftplusBackward());
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

void unaryLoop(UnaryOp op, DType type, const void *x, void *y, int64_t count,
               float scalar) {
  if (type == DType::F32)
    return unaryOfType<float>(op, x, y, count, scalar);
  if (type == DType::BF16)
    return unaryOfType<BFloat16>(op, x, y, count, scalar);
  return unaryOfType<Float16>(op, x, y, count, scalar);
}

void binaryLoop(BinaryOp op, Advance advance, DType type, const void *x,
                const void *y, void *z, int64_t count) {
  if (type == DType::F32)
    return binaryOfType<float>(op, advance, x, y, z, count);
  if (type == DType::BF16)
    return binaryOfType<BFloat16>(op, advance, x, y, z, count);
  return binaryOfType<Float16>(op, advance, x, y, z, count);
}

template <typename From>
void castFloatsFrom(DType to, const void *x, void *y, int64_t count) {
  if (to == DType::F32)
    return castFloats<From, float>(x, y, count);
  if (to == DType::BF16)
    return castFloats<From, BFloat16>(x, y, count);
  return castFloats<From, Float16>(x, y, count);
}

void castLoop(DType from, DType to, const void *x, void *y, int64_t count) {
  if (from == DType::F32)
    return castFloatsFrom<float>(to, x, y, count);
  if (from == DType::BF16)
    return castFloatsFrom<BFloat16>(to, x, y, count);
  return castFloatsFrom<Float16>(to, x, y, count);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runUnaryLoop(UnaryOp op, DType type, const void *x, void *y, int64_t count,
                  float scalar) {
  MF_LOOP(unaryLoop)(op, type, x, y, count, scalar);
}

void runBinaryLoop(BinaryOp op, Advance advance, DType type, const void *x,
                   const void *y, void *z, int64_t count) {
  MF_LOOP(binaryLoop)(op, advance, type, x, y, z, count);
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

/// Casts with an integer on one side, the other side in i32, i64 or f32.
template <typename From>
void convertFrom(DType to, const void *x, void *y, int64_t count) {
  if (to == DType::I32)
    return convertAll<From, int32_t>(x, y, count);
  if (to == DType::I64)
    return convertAll<From, int64_t>(x, y, count);
  return convertAll<From, float>(x, y, count);
}

void convertWide(DType from, DType to, const void *x, void *y, int64_t count) {
  if (from == DType::I32)
    return convertFrom<int32_t>(to, x, y, count);
  if (from == DType::I64)
    return convertFrom<int64_t>(to, x, y, count);
  return convertFrom<float>(to, x, y, count);
}

} // namespace

void runCastLoop(DType from, DType to, const void *x, void *y, int64_t count) {
  if (isFloat(from) && isFloat(to))
    return MF_LOOP(castLoop)(from, to, x, y, count);
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
      MF_LOOP(castLoop)(from, DType::F32, source, wide, n);
      convertWide(DType::F32, to, wide, target, n);
    } else {
      convertWide(from, DType::F32, source, wide, n);
      MF_LOOP(castLoop)(DType::F32, to, wide, target, n);
    }
  }
}

} // namespace mf
#endif // HWY_ONCE
