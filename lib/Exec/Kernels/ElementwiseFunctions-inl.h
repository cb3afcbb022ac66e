//===- ElementwiseFunctions-inl.h - Functions of f32 vectors --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that elementwise kernels apply to a vector. Included once for
// each instruction set, like Simd-inl.h.
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

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

struct Neg {
  HWY_INLINE FloatVector operator()(FloatVector x) const { return hn::Neg(x); }
};

struct Sqrt {
  HWY_INLINE FloatVector operator()(FloatVector x) const { return hn::Sqrt(x); }
};

struct Reciprocal {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Div(hn::Set(floats, 1.0f), x);
  }
};

struct Silu {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Mul(x, sigmoidOfNumber(x));
  }
};

/// Returns the argument of the sigmoid in the tanh form of GELU: 0.5 (1 +
/// tanh(u)) = sigmoid(2 u), u = sqrt(2/pi) (x + 0.044715 x^3).
HWY_INLINE FloatVector geluArgument(FloatVector x) {
  auto cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(floats, 0.0713548162726f),
                          hn::Set(floats, 1.59576912161f));
  return hn::Mul(x, cubic);
}

struct Gelu {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Mul(x, sigmoidOfNumber(geluArgument(x)));
  }
};

/// Returns the argument of the sigmoid in the fast form of GELU.
HWY_INLINE FloatVector fastGeluArgument(FloatVector x) {
  return hn::Mul(x, hn::Set(floats, 1.702f));
}

struct FastGelu {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Mul(x, sigmoidOfNumber(fastGeluArgument(x)));
  }
};

struct Sigmoid {
  HWY_INLINE FloatVector operator()(FloatVector x) const { return sigmoid(x); }
};

struct Exp {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return exponential(x);
  }
};

/// Highway's logarithm is for positive numbers.
struct Log {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    const auto infinity =
        hn::Set(floats, std::numeric_limits<float>::infinity());
    const auto zero = hn::Zero(floats);
    auto y = hn::IfThenElse(hn::Lt(x, infinity), hn::Log(floats, x), x);
    y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
    return hn::IfThenElse(hn::Lt(x, zero), hn::NaN(floats), y);
  }
};

/// The logarithm is that of 1 + exp(-|x|), so that nothing overflows.
struct Softplus {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    const auto rest = hn::Log1p(floats, exponential(hn::Neg(hn::Abs(x))));
    const auto above =
        hn::IfThenElse(hn::Gt(x, hn::Zero(floats)), x, hn::Zero(floats));
    return hn::Add(above, rest);
  }
};

struct SqrtSoftplus {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Sqrt(Softplus()(x));
  }
};

//===----------------------------------------------------------------------===//
// Functions of an operand and a number
//===----------------------------------------------------------------------===//

struct AddScalar {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Add(x, scalar);
  }
};

struct MulScalar {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Mul(x, scalar);
  }
};

struct ClampMin {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::IfThenElse(hn::Lt(x, scalar), scalar, x);
  }
};

struct ClampMax {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::IfThenElse(hn::Gt(x, scalar), scalar, x);
  }
};

HWY_INLINE FloatVector oneWhere(hn::Mask<FloatTag> mask) {
  return hn::IfThenElseZero(mask, hn::Set(floats, 1.0f));
}

struct GreaterThan {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return oneWhere(hn::Gt(x, scalar));
  }
};

struct GreaterEqual {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return oneWhere(hn::Ge(x, scalar));
  }
};

struct LessThan {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return oneWhere(hn::Lt(x, scalar));
  }
};

/// True for NaN, which is not the case for Highway's Ne on every target.
struct NotEqual {
  FloatVector scalar;
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::IfThenZeroElse(hn::Eq(x, scalar), hn::Set(floats, 1.0f));
  }
};

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

struct Remainder {
  FloatVector scalar;

  static float compute(float x, float divisor) {
    const float rest = std::fmod(x, divisor);
    return rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest;
  }
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    const Quotient result(x, scalar);
    return result.isExact ? result.remainder : forEachLane(x, scalar, compute);
  }
};

struct FloorDivide {
  FloatVector scalar;

  static float compute(float x, float divisor) {
    return static_cast<float>(
        std::floor(static_cast<double>(x) / static_cast<double>(divisor)));
  }
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    const Quotient result(x, scalar);
    return result.isExact ? result.quotient : forEachLane(x, scalar, compute);
  }
};

//===----------------------------------------------------------------------===//
// Functions of two operands
//===----------------------------------------------------------------------===//

struct Add {
  HWY_INLINE FloatVector operator()(FloatVector x, FloatVector y) const {
    return hn::Add(x, y);
  }
};

struct Sub {
  HWY_INLINE FloatVector operator()(FloatVector x, FloatVector y) const {
    return hn::Sub(x, y);
  }
};

struct Mul {
  HWY_INLINE FloatVector operator()(FloatVector x, FloatVector y) const {
    return hn::Mul(x, y);
  }
};

struct Div {
  HWY_INLINE FloatVector operator()(FloatVector x, FloatVector y) const {
    return hn::Div(x, y);
  }
};

struct LargerOf {
  HWY_INLINE FloatVector operator()(FloatVector x, FloatVector y) const {
    return largerOf(x, y);
  }
};

struct GreaterEqualOf {
  HWY_INLINE FloatVector operator()(FloatVector x, FloatVector y) const {
    return oneWhere(hn::Ge(x, y));
  }
};

struct SiluBackward {
  HWY_INLINE FloatVector operator()(FloatVector dy, FloatVector x) const {
    auto one = hn::Set(floats, 1.0f);
    auto s = sigmoidOfNumber(x);
    auto slope = hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one));
    return hn::Mul(dy, slope);
  }
};

struct GeluBackward {
  HWY_INLINE FloatVector operator()(FloatVector dy, FloatVector x) const {
    auto one = hn::Set(floats, 1.0f);
    auto s = sigmoidOfNumber(geluArgument(x));
    auto inner =
        hn::MulAdd(hn::Mul(x, x), hn::Set(floats, 3 * 0.0713548162726f),
                   hn::Set(floats, 1.59576912161f));
    auto rest = hn::Mul(hn::Mul(x, inner), hn::Sub(one, s));
    return hn::Mul(dy, hn::MulAdd(s, rest, s));
  }
};

struct FastGeluBackward {
  HWY_INLINE FloatVector operator()(FloatVector dy, FloatVector x) const {
    auto one = hn::Set(floats, 1.0f);
    auto u = fastGeluArgument(x);
    auto s = sigmoidOfNumber(u);
    auto slope = hn::Mul(s, hn::MulAdd(u, hn::Sub(one, s), one));
    return hn::Mul(dy, slope);
  }
};

/// 0 where the function is 0 in f32, at which its slope is not a number.
struct SqrtSoftplusBackward {
  HWY_INLINE FloatVector operator()(FloatVector dy, FloatVector x) const {
    const auto y = SqrtSoftplus()(x);
    const auto slope = hn::Div(hn::Mul(hn::Set(floats, 0.5f), sigmoid(x)), y);
    return hn::IfThenZeroElse(hn::Eq(y, hn::Zero(floats)), hn::Mul(dy, slope));
  }
};

/// Computes the gradient from the output.
struct SigmoidBackward {
  HWY_INLINE FloatVector operator()(FloatVector dy, FloatVector y) const {
    return hn::Mul(dy, hn::NegMulAdd(y, y, y));
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#endif // MF_LIB_KERNELS_ELEMENTWISEFUNCTIONS_INL_H
