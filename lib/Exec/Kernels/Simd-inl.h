//===- Simd-inl.h - f32 vectors from f32, bf16 and f16 memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each instruction set by the files that Highway compiles
// several times (see foreach_target.h). Every element goes through the same
// vector instructions wherever it is in a row. Tails are loaded into a whole
// vector, so that results do not depend on where tiles are cut.
//
//===----------------------------------------------------------------------===//

#if defined(MF_LIB_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MF_LIB_KERNELS_SIMD_INL_H
#undef MF_LIB_KERNELS_SIMD_INL_H
#else
#define MF_LIB_KERNELS_SIMD_INL_H
#endif

#include "EightLanes-inl.h"
#include "ElementTypes.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstring>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_NEON
namespace hn = eight;
#else
namespace hn = hwy::HWY_NAMESPACE;
#endif

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;
using HalfBitsTag = hn::Rebind<uint16_t, FloatTag>;

using HalfBitsVector = hn::Vec<HalfBitsTag>;

constexpr FloatTag floats;
constexpr BitsTag floatBits;
constexpr HalfBitsTag halfBits;

/// The most lanes that getLanes() returns.
#if HWY_TARGET == HWY_NEON
constexpr int64_t maxLanes = 8;
#else
constexpr int64_t maxLanes = HWY_MAX_BYTES / sizeof(float);
#endif

HWY_INLINE int64_t getLanes() {
  return static_cast<int64_t>(hn::Lanes(floats));
}

//===----------------------------------------------------------------------===//
// Conversions: half the bits to f32 and back, rounded to nearest even
//===----------------------------------------------------------------------===//

HWY_INLINE FloatVector widen(HalfBitsVector bits, BFloat16) {
  return hn::BitCast(floats, hn::ShiftLeft<16>(hn::PromoteTo(floatBits, bits)));
}

/// Returns the rounded bits in the upper half of each lane, and anything in the
/// lower half.
HWY_INLINE hn::Vec<BitsTag> roundUpperHalf(FloatVector value) {
  auto bits = hn::BitCast(floatBits, value);
  auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(floatBits, 1u));
  auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(floatBits, 0x7fffu)));
  auto quiet = hn::Or(bits, hn::Set(floatBits, 0x400000u));
  auto isNaN = hn::RebindMask(floatBits, hn::IsNaN(value));
  return hn::IfThenElse(isNaN, quiet, rounded);
}

HWY_INLINE HalfBitsVector narrow(FloatVector value, BFloat16) {
  return hn::TruncateTo(halfBits, hn::ShiftRight<16>(roundUpperHalf(value)));
}

HWY_INLINE FloatVector widen(HalfBitsVector bits, Float16) {
  const hn::Rebind<hwy::float16_t, FloatTag> halves;
  return hn::PromoteTo(floats, hn::BitCast(halves, bits));
}

HWY_INLINE HalfBitsVector narrow(FloatVector value, Float16) {
  const hn::Rebind<hwy::float16_t, FloatTag> halves;
  return hn::BitCast(halfBits, hn::DemoteTo(halves, value));
}

//===----------------------------------------------------------------------===//
// Whole vectors
//===----------------------------------------------------------------------===//

HWY_INLINE FloatVector load(const float *from) {
  return hn::LoadU(floats, from);
}

template <typename Half> HWY_INLINE FloatVector load(const Half *from) {
  return widen(hn::LoadU(halfBits, reinterpret_cast<const uint16_t *>(from)),
               Half());
}

HWY_INLINE void store(FloatVector value, float *to) {
  hn::StoreU(value, floats, to);
}

template <typename Half> HWY_INLINE void store(FloatVector value, Half *to) {
  hn::StoreU(narrow(value, Half()), halfBits, reinterpret_cast<uint16_t *>(to));
}

//===----------------------------------------------------------------------===//
// Tails: the first `count` lanes, zero in the others
//===----------------------------------------------------------------------===//

/// Returns all ones in the first `count` lanes.
HWY_INLINE auto firstLanes(int64_t count) {
  return hn::FirstN(floats, static_cast<size_t>(count));
}

#if HWY_TARGET <= HWY_AVX3

HWY_INLINE FloatVector loadTail(const float *from, int64_t count) {
  return hn::MaskedLoad(firstLanes(count), floats, from);
}

template <typename Half>
HWY_INLINE FloatVector loadTail(const Half *from, int64_t count) {
  auto first = hn::FirstN(halfBits, static_cast<size_t>(count));
  return widen(
      hn::MaskedLoad(first, halfBits, reinterpret_cast<const uint16_t *>(from)),
      Half());
}

HWY_INLINE void storeTail(FloatVector value, float *to, int64_t count) {
  hn::BlendedStore(value, firstLanes(count), floats, to);
}

template <typename Half>
HWY_INLINE void storeTail(FloatVector value, Half *to, int64_t count) {
  auto first = hn::FirstN(halfBits, static_cast<size_t>(count));
  hn::BlendedStore(narrow(value, Half()), first, halfBits,
                   reinterpret_cast<uint16_t *>(to));
}

#else

// Masked loads of these targets may read past the end.
template <typename T>
HWY_INLINE FloatVector loadTail(const T *from, int64_t count) {
  T lanes[maxLanes] = {};
  std::memcpy(lanes, from, count * sizeof(T));
  return load(lanes);
}

template <typename T>
HWY_INLINE void storeTail(FloatVector value, T *to, int64_t count) {
  T lanes[maxLanes];
  store(value, lanes);
  std::memcpy(to, lanes, count * sizeof(T));
}

#endif

/// Returns a vector with the element in every lane.
template <typename T> HWY_INLINE FloatVector broadcast(T element) {
  T lanes[maxLanes];
  for (T &lane : lanes)
    lane = element;
  return load(lanes);
}

/// Returns `value` after rounding to T.
template <typename T> HWY_INLINE FloatVector rounded(FloatVector value) {
  if constexpr (std::is_same_v<T, float>)
    return value;
  else
    return widen(narrow(value, T()), T());
}

/// Returns `value`, an element of type T, multiplied by one factor after
/// another. Each product is rounded to T, so that the bits are those of
/// products that are stored in between.
template <typename T>
HWY_INLINE FloatVector multiplied(FloatVector value,
                                  llvm::ArrayRef<float> factors) {
  for (float factor : factors)
    value = rounded<T>(hn::Mul(value, hn::Set(floats, factor)));
  return value;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The way in which `forEachVector` accesses elements: a whole
/// vector.
struct WholeVector {
  template <typename T> HWY_INLINE FloatVector get(const T *from) const {
    return load(from);
  }
  template <typename T> HWY_INLINE void put(FloatVector value, T *to) const {
    store(value, to);
  }
  /// Returns the lanes of `value` that represent elements, and `other` in the
  /// rest.
  HWY_INLINE FloatVector only(FloatVector value, float /*other*/) const {
    return value;
  }
};

/// The last, incomplete vector of a row.
struct PartOfVector {
  int64_t count;

  template <typename T> HWY_INLINE FloatVector get(const T *from) const {
    return loadTail(from, count);
  }
  template <typename T> HWY_INLINE void put(FloatVector value, T *to) const {
    storeTail(value, to, count);
  }
  HWY_INLINE FloatVector only(FloatVector value, float other) const {
    return hn::IfThenElse(firstLanes(count), value, hn::Set(floats, other));
  }
};

/// Calls `visit(i, access)` for i = 0, lanes, 2 lanes, ... below `count`.
/// `visit` is a lambda marked HWY_ATTR.
template <typename Visit>
HWY_INLINE void forEachVector(int64_t count, const Visit &visit) {
  const int64_t lanes = getLanes();
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    visit(i, WholeVector());
  if (i < count)
    visit(i, PartOfVector{count - i});
}

HWY_INLINE float sumOfLanes(FloatVector value) {
  return hn::GetLane(hn::SumOfLanes(floats, value));
}

/// Returns the larger lanes, NaN where one is NaN. Highway's Max returns either
/// then, as the target does.
HWY_INLINE FloatVector largerOf(FloatVector x, FloatVector y) {
  return hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y);
}

/// Returns the largest lane, NaN if one is NaN.
HWY_INLINE float maxOfLanes(FloatVector value) {
  if (!hn::AllFalse(floats, hn::IsNaN(value)))
    return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(floats, value));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

#if HWY_TARGET <= HWY_AVX3

/// The powers 2^(i / 16).
alignas(64) constexpr float powersOfTwo[] = {
    0x1p0f,        0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f,
    0x1.306fep0f,  0x1.3dea64p0f, 0x1.4bfdaep0f, 0x1.5ab07ep0f,
    0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f,
    0x1.ae89fap0f, 0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};

/// Beyond these e^x is 0 and infinity.
constexpr float leastExponent = -105, mostExponent = 89;

/// Returns e^x for x that is not far beyond those limits, or NaN: e^x = 2^n
/// e^r, with n in sixteenths and |r| <= log(2) / 32, for which four terms of
/// the series are enough.
HWY_INLINE FloatVector boundedExponential(FloatVector x) {
  // The sum is so large that its last place is a sixteenth.
  const auto large = hn::Set(floats, 0x1.8p19f);
  auto rounded = hn::MulAdd(x, hn::Set(floats, 1.44269504f), large);
  auto n = hn::Sub(rounded, large);
  auto r = hn::NegMulAdd(n, hn::Set(floats, 0.693145751953125f), x);
  r = hn::NegMulAdd(n, hn::Set(floats, 1.42860676533e-6f), r);
  auto rest =
      hn::MulAdd(r, hn::Set(floats, 1.66666667e-1f), hn::Set(floats, 0.5f));
  rest = hn::MulAdd(rest, hn::Mul(r, r), r);
  const FloatVector power{_mm512_permutexvar_ps(
      _mm512_castps_si512(rounded.raw), _mm512_load_ps(powersOfTwo))};
  // Takes the largest integer that is no more than n.
  return FloatVector{
      _mm512_scalef_ps(hn::MulAdd(power, rest, power).raw, n.raw)};
}

/// Returns e^x with an error of about 1 ulp; 0 and infinity out of range; NaN
/// for NaN.
HWY_INLINE FloatVector exponential(FloatVector x) {
  // Min and Max have their operands in the order in which x86 propagates a NaN.
  return boundedExponential(
      hn::Min(hn::Set(floats, mostExponent),
              hn::Max(hn::Set(floats, leastExponent), x)));
}

/// Returns exponential(x) for x that is at most slightly above 0.
HWY_INLINE FloatVector exponentialBelowOne(FloatVector x) {
  return boundedExponential(hn::Max(hn::Set(floats, leastExponent), x));
}

/// Returns 1 / (1 + e^-x), and some number for NaN. It is for functions that
/// multiply the result by x, whose NaN then stays.
HWY_INLINE FloatVector sigmoidOfNumber(FloatVector x) {
  // Limits the magnitude and leaves the sign, in one instruction.
  constexpr int leastMagnitude = 2;
  const FloatVector bounded{
      _mm512_range_ps(x.raw, _mm512_set1_ps(-leastExponent), leastMagnitude)};
  const auto one = hn::Set(floats, 1.0f);
  return hn::Div(one, hn::Add(one, boundedExponential(hn::Neg(bounded))));
}

#else

HWY_INLINE FloatVector exponential(FloatVector x) {
  auto bounded = hn::Min(x, hn::Set(floats, 100.0f));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(floats, bounded));
}

HWY_INLINE FloatVector exponentialBelowOne(FloatVector x) {
  return exponential(x);
}

HWY_INLINE FloatVector sigmoidOfNumber(FloatVector x) {
  const auto one = hn::Set(floats, 1.0f);
  return hn::Div(one, hn::Add(one, exponential(hn::Neg(x))));
}

#endif

/// Returns 1 / (1 + e^-x).
HWY_INLINE FloatVector sigmoid(FloatVector x) {
  const auto one = hn::Set(floats, 1.0f);
  return hn::Div(one, hn::Add(one, exponential(hn::Neg(x))));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#endif // MF_LIB_KERNELS_SIMD_INL_H
