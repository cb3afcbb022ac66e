//===- VectorPairs-inl.h - Loops over two vectors at a time ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each instruction set, like Simd-inl.h.
//
// A vector of bf16 elements corresponds to two of f32, and the cheapest way to
// split and merge them is by even and odd elements. The loops here do not
// depend on which element is in which lane, so they process two vectors at a
// time, in the order of their narrowest type. The result for an element does
// not depend on its lane.
//
//===----------------------------------------------------------------------===//

#if defined(MF_LIB_KERNELS_VECTORPAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MF_LIB_KERNELS_VECTORPAIRS_INL_H
#undef MF_LIB_KERNELS_VECTORPAIRS_INL_H
#else
#define MF_LIB_KERNELS_VECTORPAIRS_INL_H
#endif

#include "Simd-inl.h"
#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

struct FloatPair {
  FloatVector first, second;
};

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// Processes one vector after the other, of any types.
template <typename Order> struct PairsOf {
  template <typename T> static HWY_INLINE FloatPair load(const T *from) {
    return {HWY_NAMESPACE::load(from), HWY_NAMESPACE::load(from + getLanes())};
  }
  template <typename T> static HWY_INLINE void store(FloatPair pair, T *to) {
    HWY_NAMESPACE::store(pair.first, to);
    HWY_NAMESPACE::store(pair.second, to + getLanes());
  }
};

#if HWY_TARGET <= HWY_AVX3

/// Rounds two vectors that have a NaN to bf16.
HWY_NOINLINE inline __m512i roundWithNaN(FloatPair pair) {
  const __m512i even = _mm512_srli_epi32(roundUpperHalf(pair.first).raw, 16);
  return _mm512_mask_blend_epi16(0xaaaaaaaa, even,
                                 roundUpperHalf(pair.second).raw);
}

/// The elements at even places, and those at odd ones.
template <> struct PairsOf<BFloat16> {
  static HWY_INLINE FloatPair load(const BFloat16 *from) {
    const __m512i both = _mm512_loadu_si512(from);
    const __m512i odd =
        _mm512_and_si512(both, _mm512_set1_epi32(static_cast<int>(0xffff0000)));
    return {FloatVector{_mm512_castsi512_ps(_mm512_slli_epi32(both, 16))},
            FloatVector{_mm512_castsi512_ps(odd)}};
  }

  static HWY_INLINE void store(FloatPair pair, BFloat16 *to) {
    const __m512i even = _mm512_castps_si512(pair.first.raw);
    const __m512i odd = _mm512_castps_si512(pair.second.raw);
    const __m512i upper =
        _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(even, 16), odd);
    const __m512i lower =
        _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16));
    // Rounds up if the lower half is more than one half, or if it is exactly
    // one half and the upper half is odd, in which case adding the odd bit
    // makes it more.
    const __m512i one = _mm512_set1_epi16(1);
    constexpr int aOrBothBAndC = 0xf8;
    const __m512i excess =
        _mm512_ternarylogic_epi32(lower, upper, one, aOrBothBAndC);
    const __mmask32 up = _mm512_cmpgt_epu16_mask(
        excess, _mm512_set1_epi16(static_cast<short>(0x8000)));
    __m512i rounded = _mm512_mask_add_epi16(upper, up, upper, one);
    if (HWY_UNLIKELY(_mm512_cmp_ps_mask(pair.first.raw, pair.second.raw,
                                        _CMP_UNORD_Q) != 0))
      rounded = roundWithNaN(pair);
    _mm512_storeu_si512(to, rounded);
  }

  static HWY_INLINE FloatPair load(const float *from) {
    const __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + 16);
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                                           20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return {FloatVector{_mm512_permutex2var_ps(low, even, high)},
            FloatVector{_mm512_permutex2var_ps(low, odd, high)}};
  }

  static HWY_INLINE void store(FloatPair pair, float *to) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
                                          21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    _mm512_storeu_ps(
        to, _mm512_permutex2var_ps(pair.first.raw, low, pair.second.raw));
    _mm512_storeu_ps(
        to + 16, _mm512_permutex2var_ps(pair.first.raw, high, pair.second.raw));
  }
};

#endif

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Prefetches memory that a loop which is at `at` with a pair of vectors reads
/// or writes a little later; it need not exist. The processor's own prefetching
/// is not early enough for a compute-heavy loop to never stall.
template <bool isWritten, typename T> HWY_INLINE void fetchAhead(const T *at) {
  constexpr int64_t distance = 1024, line = 64;
  constexpr int intoFirstLevel = 3;
  const char *address = reinterpret_cast<const char *>(at) + distance;
  const int64_t bytes = 2 * getLanes() * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < bytes; i += line)
    __builtin_prefetch(address + i, isWritten, intoFirstLevel);
}

/// Without instructions for pairs, they would only lengthen the build.
constexpr bool goesInPairs = HWY_TARGET <= HWY_AVX3;

/// Computes to[i] = function(from[i]...) in f32.
template <typename Order, typename Function, typename To, typename... From>
HWY_INLINE void mapVectors(int64_t count, const Function &function, To *to,
                           const From *...from) {
  using Pairs = PairsOf<Order>;
  const int64_t lanes = getLanes();
  auto ofPairs = [&](auto... pairs) HWY_ATTR {
    return FloatPair{function(pairs.first...), function(pairs.second...)};
  };
  int64_t i = 0;
  if constexpr (goesInPairs) {
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      (fetchAhead<false>(from + i), ...);
      fetchAhead<true>(to + i);
      Pairs::store(ofPairs(Pairs::load(from + i)...), to + i);
    }
  } else {
    for (; i + lanes <= count; i += lanes)
      store(function(load(from + i)...), to + i);
  }
  for (; i < count; i += lanes) {
    const int64_t rest = std::min(lanes, count - i);
    storeTail(function(loadTail(from + i, rest)...), to + i, rest);
  }
}

/// The two results of a function.
struct TwoResults {
  FloatVector first, second;
};

/// Computes first[i], second[i] = function(from[i]...) in f32.
template <typename Order, typename Function, typename First, typename Second,
          typename... From>
HWY_INLINE void mapVectorsToTwo(int64_t count, const Function &function,
                                First *first, Second *second,
                                const From *...from) {
  using Pairs = PairsOf<Order>;
  const int64_t lanes = getLanes();
  auto ofPairs = [&](int64_t i, auto... pairs) HWY_ATTR {
    const TwoResults one = function(pairs.first...);
    const TwoResults other = function(pairs.second...);
    Pairs::store({one.first, other.first}, first + i);
    Pairs::store({one.second, other.second}, second + i);
  };
  int64_t i = 0;
  if constexpr (goesInPairs)
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      (fetchAhead<false>(from + i), ...);
      fetchAhead<true>(first + i);
      fetchAhead<true>(second + i);
      ofPairs(i, Pairs::load(from + i)...);
    }
  for (; i < count; i += lanes) {
    const int64_t rest = std::min(lanes, count - i);
    const TwoResults results = function(loadTail(from + i, rest)...);
    storeTail(results.first, first + i, rest);
    storeTail(results.second, second + i, rest);
  }
}

/// Folds all elements into vectors, function(vector, from[i]...), and those
/// into one vector.
template <typename Order, typename Function, typename Join, typename... From>
HWY_INLINE FloatVector foldVectors(int64_t count, FloatVector start,
                                   const Function &function, const Join &join,
                                   const From *...from) {
  using Pairs = PairsOf<Order>;
  const int64_t lanes = getLanes();
  FloatPair a{start, start}, b = a;
  auto addPairs = [&](FloatPair &sum, auto... pairs) HWY_ATTR {
    sum.first = function(sum.first, pairs.first...);
    sum.second = function(sum.second, pairs.second...);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    (fetchAhead<false>(from + i), ...);
    (fetchAhead<false>(from + i + 2 * lanes), ...);
    addPairs(a, Pairs::load(from + i)...);
    addPairs(b, Pairs::load(from + i + 2 * lanes)...);
  }
  if (i + 2 * lanes <= count) {
    addPairs(a, Pairs::load(from + i)...);
    i += 2 * lanes;
  }
  for (; i + lanes <= count; i += lanes)
    b.first = function(b.first, load(from + i)...);
  if (i < count)
    b.second = hn::IfThenElse(
        firstLanes(count - i),
        function(b.second, loadTail(from + i, count - i)...), b.second);
  return join(join(a.first, a.second), join(b.first, b.second));
}

struct JoinSums {
  HWY_INLINE FloatVector operator()(FloatVector a, FloatVector b) const {
    return hn::Add(a, b);
  }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#endif // MF_LIB_KERNELS_VECTORPAIRS_INL_H
