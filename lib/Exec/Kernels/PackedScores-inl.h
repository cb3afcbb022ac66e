//===- PackedScores-inl.h - Vectors of f32 scores -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Code that the loops of attention on packed blocks share, and the parts that
// differ between f32 and bf16. For processors with AVX-512 (Avx512-inl.h).
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_PACKEDSCORES_INL_H
#define MF_LIB_EXEC_KERNELS_PACKEDSCORES_INL_H

#include "Avx512-inl.h"
#include "BlockProduct.h"
#include "ElementTypes.h"
#include <algorithm>

namespace mf {

MF_BEGIN_AVX512

template <typename Element> struct Exponential;

/// Uses 2^x, so that log2(e) is merged into factors that exist anyway.
template <> struct Exponential<BFloat16> {
  static constexpr float unit = 1.44269504f;

  static HWY_INLINE __m512 get(__m512 x) {
    // 2^x = 2^floor(x) 2^r; the polynomial is within 1e-7 on [0, 1].
    const __m512 r =
        _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(1.86713e-3f),
                               _mm512_set1_ps(9.01703e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.579991e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(2.4016445e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.9315131e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, x);
  }
};

/// Uses e^x with Cephes' polynomial, as in Simd-inl.h.
template <> struct Exponential<float> {
  static constexpr float unit = 1.0f;

  static HWY_INLINE __m512 get(__m512 x) {
    const __m512 bounded = _mm512_min_ps(
        _mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-105.0f), x));
    const __m512 n = _mm512_roundscale_ps(
        _mm512_mul_ps(bounded, _mm512_set1_ps(1.44269504f)),
        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), bounded);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(1.9875691500e-4f),
                               _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r),
                      _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, n);
  }
};

/// 32 columns of a row.
struct Columns {
  __m512 first, second;
};

HWY_INLINE __m512i toPairs(const Columns &columns) {
  return (__m512i)_mm512_cvtne2ps_pbh(columns.second, columns.first);
}

/// Writes 32 columns of a row of cells from `to` on.
template <typename Element>
HWY_INLINE void putColumns(const Columns &columns, Cell *to);
template <>
HWY_INLINE void putColumns<BFloat16>(const Columns &columns, Cell *to) {
  _mm512_storeu_si512(to, toPairs(columns));
}
template <>
HWY_INLINE void putColumns<float>(const Columns &columns, Cell *to) {
  _mm512_storeu_ps(to, columns.first);
  _mm512_storeu_ps(to + 16, columns.second);
}

template <typename Element>
constexpr int64_t cellElements = sizeof(Cell) / sizeof(Element);

/// Returns a mask of the first `count` of 16 lanes.
HWY_INLINE __mmask16 firstLanes(int64_t count) {
  return static_cast<__mmask16>(
      (uint32_t{1} << std::clamp<int64_t>(count, 0, 16)) - 1);
}

MF_END_AVX512

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_PACKEDSCORES_INL_H
