//===- EightLanes-inl.h - Vectors of eight lanes on NEON ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each instruction set, by Simd-inl.h.
//
// A vector of AVX2 has eight lanes of f32, one of NEON four. Sums along a row
// are first those of its lanes, so that their bits depend on the number of
// lanes. Here a vector is two of NEON's: an element has the bits that it has on
// AVX2. The functions are those of Highway that loops use, under Highway's
// names.
//
//===----------------------------------------------------------------------===//

#if defined(MF_LIB_KERNELS_EIGHTLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MF_LIB_KERNELS_EIGHTLANES_INL_H
#undef MF_LIB_KERNELS_EIGHTLANES_INL_H
#else
#define MF_LIB_KERNELS_EIGHTLANES_INL_H
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>

#if HWY_TARGET == HWY_NEON

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {
namespace eight {

namespace four = hwy::HWY_NAMESPACE;

constexpr size_t halfLanes = 4;

/// Highway's tag of vectors, of eight lanes of type T.
template <typename T> struct Tag {
  using Element = T;
  using Half = four::Simd<T, halfLanes, 0>;
};

template <typename T> struct Vector {
  four::Vec<typename Tag<T>::Half> low, high;
};

template <typename T> struct LaneMask {
  four::Mask<typename Tag<T>::Half> low, high;
};

template <typename T> using ScalableTag = Tag<T>;
template <typename T, typename D> using Rebind = Tag<T>;
template <typename D>
using RebindToUnsigned = Tag<hwy::MakeUnsigned<typename D::Element>>;
template <typename D> using Vec = Vector<typename D::Element>;
template <typename D> using Mask = LaneMask<typename D::Element>;

template <typename T> constexpr size_t Lanes(Tag<T> /*d*/) {
  return 2 * halfLanes;
}

//===----------------------------------------------------------------------===//
// Each lane by itself
//===----------------------------------------------------------------------===//

#define MF_OF_ONE(Function)                                                    \
  template <typename T> HWY_INLINE Vector<T> Function(Vector<T> x) {           \
    return {four::Function(x.low), four::Function(x.high)};                    \
  }
MF_OF_ONE(Abs)
MF_OF_ONE(Floor)
MF_OF_ONE(Neg)
MF_OF_ONE(Not)
MF_OF_ONE(Sqrt)
#undef MF_OF_ONE

#define MF_OF_TWO(Function)                                                    \
  template <typename T>                                                        \
  HWY_INLINE Vector<T> Function(Vector<T> x, Vector<T> y) {                    \
    return {four::Function(x.low, y.low), four::Function(x.high, y.high)};     \
  }
MF_OF_TWO(Add)
MF_OF_TWO(And)
MF_OF_TWO(CopySign)
MF_OF_TWO(Div)
MF_OF_TWO(Mul)
MF_OF_TWO(Or)
MF_OF_TWO(Sub)
#undef MF_OF_TWO

#define MF_OF_THREE(Function)                                                  \
  template <typename T>                                                        \
  HWY_INLINE Vector<T> Function(Vector<T> x, Vector<T> y, Vector<T> z) {       \
    return {four::Function(x.low, y.low, z.low),                               \
            four::Function(x.high, y.high, z.high)};                           \
  }
MF_OF_THREE(MulAdd)
MF_OF_THREE(MulSub)
MF_OF_THREE(NegMulAdd)
#undef MF_OF_THREE

#define MF_COMPARISON(Function)                                                \
  template <typename T>                                                        \
  HWY_INLINE LaneMask<T> Function(Vector<T> x, Vector<T> y) {                  \
    return {four::Function(x.low, y.low), four::Function(x.high, y.high)};     \
  }
MF_COMPARISON(Eq)
MF_COMPARISON(Ge)
MF_COMPARISON(Gt)
MF_COMPARISON(Le)
MF_COMPARISON(Lt)
MF_COMPARISON(Ne)
#undef MF_COMPARISON

#define MF_OF_TAG(Function)                                                    \
  template <typename T>                                                        \
  HWY_INLINE Vector<T> Function(Tag<T> /*d*/, Vector<T> x) {                   \
    const typename Tag<T>::Half half;                                          \
    return {four::Function(half, x.low), four::Function(half, x.high)};        \
  }
MF_OF_TAG(Exp)
MF_OF_TAG(Log)
MF_OF_TAG(Log1p)
#undef MF_OF_TAG

template <typename T> HWY_INLINE LaneMask<T> IsNaN(Vector<T> x) {
  return {four::IsNaN(x.low), four::IsNaN(x.high)};
}

template <typename T>
HWY_INLINE Vector<T> IfThenElse(LaneMask<T> mask, Vector<T> yes, Vector<T> no) {
  return {four::IfThenElse(mask.low, yes.low, no.low),
          four::IfThenElse(mask.high, yes.high, no.high)};
}
template <typename T>
HWY_INLINE Vector<T> IfThenElseZero(LaneMask<T> mask, Vector<T> yes) {
  return {four::IfThenElseZero(mask.low, yes.low),
          four::IfThenElseZero(mask.high, yes.high)};
}
template <typename T>
HWY_INLINE Vector<T> IfThenZeroElse(LaneMask<T> mask, Vector<T> no) {
  return {four::IfThenZeroElse(mask.low, no.low),
          four::IfThenZeroElse(mask.high, no.high)};
}

/// As x86 does, returns y if one is NaN or both are zeros.
template <typename T> HWY_INLINE Vector<T> Max(Vector<T> x, Vector<T> y) {
  return IfThenElse(Gt(x, y), x, y);
}
template <typename T> HWY_INLINE Vector<T> Min(Vector<T> x, Vector<T> y) {
  return IfThenElse(Lt(x, y), x, y);
}

template <int Bits, typename T> HWY_INLINE Vector<T> ShiftLeft(Vector<T> x) {
  return {four::ShiftLeft<Bits>(x.low), four::ShiftLeft<Bits>(x.high)};
}
template <int Bits, typename T> HWY_INLINE Vector<T> ShiftRight(Vector<T> x) {
  return {four::ShiftRight<Bits>(x.low), four::ShiftRight<Bits>(x.high)};
}

//===----------------------------------------------------------------------===//
// Other types of the same lanes
//===----------------------------------------------------------------------===//

#define MF_TO_TYPE(Function)                                                   \
  template <typename To, typename From>                                        \
  HWY_INLINE Vector<To> Function(Tag<To> /*d*/, Vector<From> x) {              \
    const typename Tag<To>::Half half;                                         \
    return {four::Function(half, x.low), four::Function(half, x.high)};        \
  }
MF_TO_TYPE(BitCast)
MF_TO_TYPE(DemoteTo)
MF_TO_TYPE(PromoteTo)
MF_TO_TYPE(TruncateTo)
#undef MF_TO_TYPE

template <typename To, typename From>
HWY_INLINE LaneMask<To> RebindMask(Tag<To> /*d*/, LaneMask<From> mask) {
  const typename Tag<To>::Half half;
  return {four::RebindMask(half, mask.low), four::RebindMask(half, mask.high)};
}

//===----------------------------------------------------------------------===//
// Making, loading and storing
//===----------------------------------------------------------------------===//

template <typename T> HWY_INLINE Vector<T> Set(Tag<T> /*d*/, T value) {
  const auto half = four::Set(typename Tag<T>::Half(), value);
  return {half, half};
}
template <typename T> HWY_INLINE Vector<T> Zero(Tag<T> /*d*/) {
  const auto half = four::Zero(typename Tag<T>::Half());
  return {half, half};
}
template <typename T> HWY_INLINE Vector<T> NaN(Tag<T> /*d*/) {
  const auto half = four::NaN(typename Tag<T>::Half());
  return {half, half};
}
/// Returns first, first + 1, ..., each rounded once.
template <typename T> HWY_INLINE Vector<T> Iota(Tag<T> d, T first) {
  const typename Tag<T>::Half half;
  return Add(Vector<T>{four::Iota(half, T{0}), four::Iota(half, T{halfLanes})},
             Set(d, first));
}

template <typename T> HWY_INLINE Vector<T> LoadU(Tag<T> /*d*/, const T *from) {
  const typename Tag<T>::Half half;
  return {four::LoadU(half, from), four::LoadU(half, from + halfLanes)};
}
template <typename T> HWY_INLINE Vector<T> Load(Tag<T> d, const T *from) {
  return LoadU(d, from);
}
template <typename T> HWY_INLINE void StoreU(Vector<T> x, Tag<T> /*d*/, T *to) {
  const typename Tag<T>::Half half;
  four::StoreU(x.low, half, to);
  four::StoreU(x.high, half, to + halfLanes);
}
template <typename T> HWY_INLINE void Store(Vector<T> x, Tag<T> d, T *to) {
  StoreU(x, d, to);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

template <typename T> HWY_INLINE LaneMask<T> Or(LaneMask<T> x, LaneMask<T> y) {
  return {four::Or(x.low, y.low), four::Or(x.high, y.high)};
}
template <typename T>
HWY_INLINE LaneMask<T> FirstN(Tag<T> /*d*/, size_t count) {
  const typename Tag<T>::Half half;
  return {four::FirstN(half, std::min(count, halfLanes)),
          four::FirstN(half, count - std::min(count, halfLanes))};
}
template <typename T> HWY_INLINE bool AllTrue(Tag<T> /*d*/, LaneMask<T> mask) {
  const typename Tag<T>::Half half;
  return four::AllTrue(half, mask.low) && four::AllTrue(half, mask.high);
}
template <typename T> HWY_INLINE bool AllFalse(Tag<T> /*d*/, LaneMask<T> mask) {
  const typename Tag<T>::Half half;
  return four::AllFalse(half, mask.low) && four::AllFalse(half, mask.high);
}
/// Writes at least one byte, of which bit i is lane i.
template <typename T>
HWY_INLINE void StoreMaskBits(Tag<T> /*d*/, LaneMask<T> mask, uint8_t *bits) {
  const typename Tag<T>::Half half;
  uint8_t high[sizeof(uint64_t)] = {};
  four::StoreMaskBits(half, mask.low, bits);
  four::StoreMaskBits(half, mask.high, high);
  bits[0] = static_cast<uint8_t>(bits[0] | high[0] << halfLanes);
}

//===----------------------------------------------------------------------===//
// All lanes
//===----------------------------------------------------------------------===//

template <typename T> HWY_INLINE T GetLane(Vector<T> x) {
  return four::GetLane(x.low);
}

/// Adds up lanes that are four apart, then two, then one, as Highway does on
/// AVX2.
HWY_INLINE Vector<float> SumOfLanes(Tag<float> /*d*/, Vector<float> x) {
  auto sum = four::Add(x.high, x.low);
  sum = four::Add(sum, four::Shuffle1032(sum));
  sum = four::Add(sum, four::Shuffle0321(sum));
  return {sum, sum};
}

HWY_INLINE Vector<float> MaxOfLanes(Tag<float> /*d*/, Vector<float> x) {
  const Tag<float>::Half half;
  const auto max = four::MaxOfLanes(half, four::Max(x.low, x.high));
  return {max, max};
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace eight
// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#endif // HWY_TARGET == HWY_NEON

#endif // MF_LIB_KERNELS_EIGHTLANES_INL_H
