//===- ElementwiseFunctions-inl.h - Functions of f32 vectors --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions of ElementwiseOps.def. Included once for each instruction set,
// like Simd-inl.h.
//
//===----------------------------------------------------------------------===//

#if defined(MF_LIB_KERNELS_ELEMENTWISEFUNCTIONS_INL_H) ==                      \
    defined(HWY_TARGET_TOGGLE)
#ifdef MF_LIB_KERNELS_ELEMENTWISEFUNCTIONS_INL_H
#undef MF_LIB_KERNELS_ELEMENTWISEFUNCTIONS_INL_H
#else
#define MF_LIB_KERNELS_ELEMENTWISEFUNCTIONS_INL_H
#endif

#include "Simd-inl.h"
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

/// Returns the argument of the sigmoid in the tanh form of GELU: 0.5 (1 +
/// tanh(u)) = sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3).
HWY_INLINE FloatVector geluArgument(FloatVector x) {
  auto cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(floats, 0.0713548162726f),
                          hn::Set(floats, 1.59576912161f));
  return hn::Mul(x, cubic);
}

HWY_INLINE FloatVector geluSlope(FloatVector x) {
  auto one = hn::Set(floats, 1.0f);
  auto s = sigmoidOfNumber(geluArgument(x));
  auto inner = hn::MulAdd(hn::Mul(x, x), hn::Set(floats, 3 * 0.0713548162726f),
                          hn::Set(floats, 1.59576912161f));
  auto rest = hn::Mul(hn::Mul(x, inner), hn::Sub(one, s));
  return hn::MulAdd(s, rest, s);
}

/// Returns the argument of the sigmoid in the fast form of GELU.
HWY_INLINE FloatVector fastGeluArgument(FloatVector x) {
  return hn::Mul(x, hn::Set(floats, 1.702f));
}

/// Returns the slope of x sigmoid(u), where u is a multiple of x and s its
/// sigmoid.
HWY_INLINE FloatVector swishSlope(FloatVector u, FloatVector s) {
  auto one = hn::Set(floats, 1.0f);
  return hn::Mul(s, hn::MulAdd(u, hn::Sub(one, s), one));
}

/// Highway's logarithm is for positive numbers.
HWY_INLINE FloatVector logarithm(FloatVector x) {
  const auto infinity = hn::Set(floats, std::numeric_limits<float>::infinity());
  const auto zero = hn::Zero(floats);
  auto y = hn::IfThenElse(hn::Lt(x, infinity), hn::Log(floats, x), x);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  return hn::IfThenElse(hn::Lt(x, zero), hn::NaN(floats), y);
}

/// The logarithm is that of 1 + exp(-|x|), so that nothing overflows.
HWY_INLINE FloatVector softplus(FloatVector x) {
  const auto rest = hn::Log1p(floats, exponential(hn::Neg(hn::Abs(x))));
  const auto above =
      hn::IfThenElse(hn::Gt(x, hn::Zero(floats)), x, hn::Zero(floats));
  return hn::Add(above, rest);
}

/// 0 where the function is 0 in f32, at which its slope is not a number.
HWY_INLINE FloatVector sqrtSoftplusGradient(FloatVector dy, FloatVector x) {
  const auto y = hn::Sqrt(softplus(x));
  const auto slope = hn::Div(hn::Mul(hn::Set(floats, 0.5f), sigmoid(x)), y);
  return hn::IfThenZeroElse(hn::Eq(y, hn::Zero(floats)), hn::Mul(dy, slope));
}

HWY_INLINE FloatVector oneWhere(hn::Mask<FloatTag> mask) {
  return hn::IfThenElseZero(mask, hn::Set(floats, 1.0f));
}

/// Calls `function(x, scalar)` for each lane, in plain C++.
template <typename Function>
HWY_INLINE FloatVector forEachLane(FloatVector x, FloatVector scalar,
                                   Function function) {
  float lanes[maxLanes];
  hn::StoreU(x, floats, lanes);
  const float divisor = hn::GetLane(scalar);
  for (int64_t i = 0, count = getLanes(); i < count; ++i)
    lanes[i] = function(lanes[i], divisor);
  return hn::LoadU(floats, lanes);
}

/// The quotient as an integer, and the remainder. Both are exact except for the
/// last rounding, if quotients are small and products are not rounded.
struct Quotient {
  FloatVector quotient, remainder;
  bool isExact;

  HWY_INLINE Quotient(FloatVector x, FloatVector divisor) {
    // A correctly rounded quotient is never below an integer that the exact one
    // reaches. It may be one above; the remainder then has the wrong sign.
    quotient = hn::Floor(hn::Div(x, divisor));
    isExact = hn::AllTrue(floats,
                          hn::Lt(hn::Abs(quotient), hn::Set(floats, 0x1p23f)));
    remainder = hn::NegMulAdd(quotient, divisor, x);
    auto isBeyond =
        hn::Lt(hn::Mul(hn::CopySign(hn::Set(floats, 1.0f), divisor), remainder),
               hn::Zero(floats));
    quotient =
        hn::Sub(quotient, hn::IfThenElseZero(isBeyond, hn::Set(floats, 1.0f)));
    remainder = hn::Add(remainder, hn::IfThenElseZero(isBeyond, divisor));
  }
};

HWY_INLINE FloatVector remainderOf(FloatVector x, FloatVector scalar) {
  const Quotient result(x, scalar);
  if (result.isExact)
    return result.remainder;
  return forEachLane(x, scalar, [](float x, float divisor) {
    const float rest = std::fmod(x, divisor);
    return rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest;
  });
}

HWY_INLINE FloatVector floorDivide(FloatVector x, FloatVector scalar) {
  const Quotient result(x, scalar);
  if (result.isExact)
    return result.quotient;
  return forEachLane(x, scalar, [](float x, float divisor) {
    return static_cast<float>(
        std::floor(static_cast<double>(x) / static_cast<double>(divisor)));
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#endif // MF_LIB_KERNELS_ELEMENTWISEFUNCTIONS_INL_H
