//===- PackedAttentionLoops.cpp - Softmax of packed blocks ----------------===//

#include "PackedAttentionLoops.h"
#include "Avx512-inl.h"
#include "ElementTypes.h"
#include <algorithm>
#include <array>
#include <limits>

namespace mf {
namespace {

MF_BEGIN_AVX512

//===----------------------------------------------------------------------===//
// What f32 and bf16 have their own ways of
//===----------------------------------------------------------------------===//

template <typename Element> struct Exponential;

/// 2^x, so that log2(e) is a part of factors that are there anyway.
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

/// e^x with Cephes' polynomial, as in Simd-inl.h.
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

/// The first `count` of 16 lanes.
HWY_INLINE __mmask16 firstLanes(int64_t count) {
  return static_cast<__mmask16>(
      (uint32_t{1} << std::clamp<int64_t>(count, 0, 16)) - 1);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

HWY_INLINE int64_t countVisible(const ScoreBlock &block, int64_t row) {
  return std::clamp<int64_t>(block.visible + row * block.visibleStep, 0,
                             block.columns);
}

/// score = scale * score + bias
void addPositions(const ScoreBlock &block, int64_t row) {
  float *scores = block.scores + row * block.stride;
  const __m512 lanes =
      _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512 scale = _mm512_set1_ps(block.scale);
  const __m512 slope = _mm512_set1_ps(block.slope);
  for (int64_t i = 0; i < block.columns; i += 16) {
    const __m512 distance = _mm512_add_ps(
        _mm512_set1_ps(static_cast<float>(block.distance + i - row)), lanes);
    const __m512 score = _mm512_loadu_ps(scores + i);
    _mm512_storeu_ps(
        scores + i,
        _mm512_fmadd_ps(score, scale, _mm512_mul_ps(slope, distance)));
  }
}

/// The columns of a row. `whole` of them, a multiple of 32, are seen by every
/// row of the block: so all rows take the same way through the loops, which the
/// processor foresees.
struct RowColumns {
  int64_t whole, visible;
};

HWY_INLINE float findMax(const float *scores, int64_t columns,
                         const RowColumns &row) {
  const __m512 least = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 max = least, other = least;
  int64_t i = 0;
  for (; i < row.whole; i += 32) {
    max = _mm512_max_ps(max, _mm512_loadu_ps(scores + i));
    other = _mm512_max_ps(other, _mm512_loadu_ps(scores + i + 16));
  }
  for (; i < columns; i += 32) {
    max = _mm512_mask_max_ps(max, firstLanes(row.visible - i), max,
                             _mm512_loadu_ps(scores + i));
    other = _mm512_mask_max_ps(other, firstLanes(row.visible - i - 16), other,
                               _mm512_loadu_ps(scores + i + 16));
  }
  return _mm512_reduce_max_ps(_mm512_max_ps(max, other));
}

/// exp(scale * score - shift) of 16 scores.
template <typename Element>
HWY_INLINE __m512 getExponentials(const float *scores, __m512 scale,
                                  __m512 shift) {
  return Exponential<Element>::get(
      _mm512_fmsub_ps(_mm512_loadu_ps(scores), scale, shift));
}

/// The exponentials of a row; returns their sums.
template <typename Element>
HWY_INLINE __m512 exponentiate(float *scores, int64_t columns,
                               const RowColumns &row, float scale,
                               float shift) {
  // Cells are written behind the scores that are read.
  Cell *to = reinterpret_cast<Cell *>(scores);
  const __m512 factor = _mm512_set1_ps(scale);
  const __m512 shifts = _mm512_set1_ps(shift);
  __m512 sums = _mm512_setzero_ps(), others = sums;
  int64_t i = 0;
  for (; i < row.whole; i += 32) {
    const Columns e = {
        getExponentials<Element>(scores + i, factor, shifts),
        getExponentials<Element>(scores + i + 16, factor, shifts)};
    sums = _mm512_add_ps(sums, e.first);
    others = _mm512_add_ps(others, e.second);
    putColumns<Element>(e, to + i / cellElements<Element>);
  }
  for (; i < columns; i += 32) {
    const Columns e = {
        _mm512_maskz_mov_ps(
            firstLanes(row.visible - i),
            getExponentials<Element>(scores + i, factor, shifts)),
        _mm512_maskz_mov_ps(
            firstLanes(row.visible - i - 16),
            getExponentials<Element>(scores + i + 16, factor, shifts))};
    sums = _mm512_add_ps(sums, e.first);
    others = _mm512_add_ps(others, e.second);
    putColumns<Element>(e, to + i / cellElements<Element>);
  }
  return _mm512_add_ps(sums, others);
}

using PerRow = std::array<float, softmaxRows>;

/// What the sums so far are multiplied by: 1 where the maximum is as it was.
template <typename Element>
void getCorrections(const float *old, const PerRow &max, int64_t rows,
                    PerRow &corrections) {
  const __m512 unit = _mm512_set1_ps(Exponential<Element>::unit);
  for (int64_t i = 0; i < rows; i += 16) {
    const __m512 before = _mm512_loadu_ps(old + i);
    const __m512 now = _mm512_loadu_ps(&max[i]);
    const __m512 correction = Exponential<Element>::get(
        _mm512_mul_ps(_mm512_sub_ps(before, now), unit));
    _mm512_storeu_ps(
        &corrections[i],
        _mm512_mask_mov_ps(correction,
                           _mm512_cmp_ps_mask(before, now, _CMP_EQ_OQ),
                           _mm512_set1_ps(1.0f)));
  }
}

HWY_INLINE void multiplyRow(float *row, int64_t width, float factor) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (int64_t i = 0; i < width; i += 16)
    _mm512_storeu_ps(row + i, _mm512_mul_ps(_mm512_loadu_ps(row + i), factors));
}

template <typename Element>
void softmax(const ScoreBlock &block, const SoftmaxRows &state, bool isFirst,
             MemoryAhead &ahead) {
  float scale = block.scale;
  // Only a positive factor can be taken out of the maximum.
  const bool inPlace = block.slope != 0 || !(scale > 0);
  if (inPlace)
    scale = 1;
  const int64_t columns = roundUpTo(block.columns, 32);
  // The first row sees the least.
  const int64_t whole = countVisible(block, 0) / 32 * 32;
  PerRow max, corrections;
  for (int64_t row = 0; row < block.rows; ++row) {
    if (inPlace)
      addPositions(block, row);
    const float score = findMax(block.scores + row * block.stride, columns,
                                {whole, countVisible(block, row)});
    max[row] = scale * score;
    if (!isFirst)
      max[row] = std::max(state.max[row], max[row]);
  }
  if (!isFirst)
    getCorrections<Element>(state.max, max, block.rows, corrections);
  std::copy_n(max.begin(), block.rows, state.max);
  const int64_t lines = (ahead.getWaiting() + block.rows - 1) / block.rows;
  for (int64_t row = 0; row < block.rows; ++row) {
    ahead.fetch(lines);
    constexpr float unit = Exponential<Element>::unit;
    const __m512 added = exponentiate<Element>(
        block.scores + row * block.stride, columns,
        {whole, countVisible(block, row)}, scale * unit, max[row] * unit);
    float *sums = state.sums + row * 16;
    if (isFirst) {
      _mm512_storeu_ps(sums, added);
      continue;
    }
    _mm512_storeu_ps(sums,
                     _mm512_fmadd_ps(_mm512_loadu_ps(sums),
                                     _mm512_set1_ps(corrections[row]), added));
    if (corrections[row] != 1)
      multiplyRow(state.result + row * state.width, state.width,
                  corrections[row]);
  }
}

void addUp(const float *sums, float *sum, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row)
    sum[row] = _mm512_reduce_add_ps(_mm512_loadu_ps(sums + row * 16));
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Which of 32 queries see a key.
struct Seen {
  __mmask16 first, second;
};

/// What a key and 32 queries make.
struct KeyAndQueries {
  Columns p, ds;
};

/// What there is of 32 queries from column `column` on, multiplied by what
/// scores and gradients are multiplied by.
struct QueryColumns {
  Columns max, norm, delta;

  HWY_INLINE QueryColumns(const PackedGradBlock &block, int64_t column,
                          float unit)
      : max(get(block.max + column, unit)), norm(get(block.norm + column, 1)),
        delta(get(block.delta + column, block.scale)) {}

  static HWY_INLINE Columns get(const float *from, float factor) {
    const __m512 factors = _mm512_set1_ps(factor);
    return {_mm512_mul_ps(_mm512_loadu_ps(from), factors),
            _mm512_mul_ps(_mm512_loadu_ps(from + 16), factors)};
  }
};

/// p and ds of a key and 16 queries.
template <typename Element, bool HasSlope>
HWY_INLINE void getLanes(const PackedGradBlock &block, int64_t row,
                         int64_t column, __m512 max, __m512 norm, __m512 delta,
                         __mmask16 seen, __m512 &p, __m512 &ds) {
  using Function = Exponential<Element>;
  const int64_t place = row * block.stride + column;
  __m512 shift = max;
  if (HasSlope) {
    const __m512 lanes =
        _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 distance = _mm512_sub_ps(
        _mm512_set1_ps(static_cast<float>(block.distance + row - column)),
        lanes);
    shift = _mm512_fnmadd_ps(_mm512_set1_ps(block.slope * Function::unit),
                             distance, max);
  }
  const __m512 e = Function::get(
      _mm512_fmsub_ps(_mm512_loadu_ps(block.scores + place),
                      _mm512_set1_ps(block.scale * Function::unit), shift));
  p = _mm512_maskz_mul_ps(seen, e, norm);
  const __m512 slope = _mm512_fmsub_ps(_mm512_loadu_ps(block.gradients + place),
                                       _mm512_set1_ps(block.scale), delta);
  ds = _mm512_maskz_mul_ps(seen, p, slope);
}

template <typename Element, bool HasSlope>
HWY_INLINE KeyAndQueries getRow(const PackedGradBlock &block, int64_t row,
                                int64_t column, const QueryColumns &queries,
                                Seen seen) {
  KeyAndQueries result;
  getLanes<Element, HasSlope>(block, row, column, queries.max.first,
                              queries.norm.first, queries.delta.first,
                              seen.first, result.p.first, result.ds.first);
  getLanes<Element, HasSlope>(block, row, column + 16, queries.max.second,
                              queries.norm.second, queries.delta.second,
                              seen.second, result.p.second, result.ds.second);
  return result;
}

/// Writes what two keys add to panels of 16 queries, from `to` on.
template <typename Element>
HWY_INLINE void putPanels(const Columns &even, const Columns &odd, Cell *to,
                          int64_t panelStride);
template <>
HWY_INLINE void putPanels<BFloat16>(const Columns &even, const Columns &odd,
                                    Cell *to, int64_t panelStride) {
  // The pairs of one query are 32 bits, the even key's below.
  const Columns first = {even.first, odd.first};
  const Columns second = {even.second, odd.second};
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11,
                                         26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_storeu_si512(to, _mm512_permutexvar_epi16(order, toPairs(first)));
  _mm512_storeu_si512(to + panelStride,
                      _mm512_permutexvar_epi16(order, toPairs(second)));
}
template <>
HWY_INLINE void putPanels<float>(const Columns &even, const Columns &odd,
                                 Cell *to, int64_t panelStride) {
  _mm512_storeu_ps(to, even.first);
  _mm512_storeu_ps(to + panelColumns, odd.first);
  _mm512_storeu_ps(to + panelStride, even.second);
  _mm512_storeu_ps(to + panelStride + panelColumns, odd.second);
}

HWY_INLINE Seen getSeen(const PackedGradBlock &block, int64_t row,
                        int64_t column) {
  if (row >= block.keys)
    return {0, 0};
  if (!block.causal)
    return {0xffff, 0xffff};
  const int64_t unseen = block.distance + row - column;
  return {static_cast<__mmask16>(~firstLanes(unseen)),
          static_cast<__mmask16>(~firstLanes(unseen - 16))};
}

/// The loop over the keys for 32 queries from column `column` on, which see all
/// of them if `SeesAll`.
template <typename Element, bool HasSlope, bool SeesAll>
void softmaxGradOfColumns(const PackedGradBlock &block, Cell *panels,
                          int64_t panelStride, int64_t column,
                          MemoryAhead &ahead) {
  constexpr int64_t elements = cellElements<Element>;
  constexpr Seen all = {0xffff, 0xffff};
  constexpr int64_t linesPerStep = 4;
  const QueryColumns queries(block, column, Exponential<Element>::unit);
  panels += column / panelColumns * panelStride;
  // Cells are written behind the numbers that are read.
  Cell *p = reinterpret_cast<Cell *>(block.scores) + column / elements;
  Cell *ds = reinterpret_cast<Cell *>(block.gradients) + column / elements;
  for (int64_t row = 0; row < block.rows; row += 2) {
    ahead.fetch(linesPerStep);
    const KeyAndQueries even =
        getRow<Element, HasSlope>(block, row, column, queries,
                                  SeesAll ? all : getSeen(block, row, column));
    const KeyAndQueries odd = getRow<Element, HasSlope>(
        block, row + 1, column, queries,
        SeesAll ? all : getSeen(block, row + 1, column));
    putColumns<Element>(even.p, p);
    putColumns<Element>(odd.p, p + block.stride);
    putColumns<Element>(even.ds, ds);
    putColumns<Element>(odd.ds, ds + block.stride);
    putPanels<Element>(even.ds, odd.ds, panels, panelStride);
    p += 2 * block.stride;
    ds += 2 * block.stride;
    panels += 2 / elements * panelColumns;
  }
}

template <typename Element, bool HasSlope>
void softmaxGrad(const PackedGradBlock &block, Cell *panels,
                 int64_t panelStride, MemoryAhead &ahead) {
  for (int64_t column = 0; column < block.columns; column += 32) {
    const int64_t lastDistance = block.distance + block.rows - 1 - column;
    if (block.rows <= block.keys && (!block.causal || lastDistance <= 0))
      softmaxGradOfColumns<Element, HasSlope, true>(block, panels, panelStride,
                                                    column, ahead);
    else
      softmaxGradOfColumns<Element, HasSlope, false>(block, panels, panelStride,
                                                     column, ahead);
  }
}

MF_END_AVX512

} // namespace

void runPackedSoftmax(DType cellType, const ScoreBlock &block,
                      const SoftmaxRows &state, bool isFirst,
                      MemoryAhead &ahead) {
  if (cellType == DType::F32)
    softmax<float>(block, state, isFirst, ahead);
  else
    softmax<BFloat16>(block, state, isFirst, ahead);
}

void addUpSums(const float *sums, float *sum, int64_t rows) {
  addUp(sums, sum, rows);
}

void runPackedSoftmaxGrad(DType cellType, const PackedGradBlock &block,
                          Cell *panels, int64_t panelStride,
                          MemoryAhead &ahead) {
  if (cellType == DType::F32)
    block.slope == 0
        ? softmaxGrad<float, false>(block, panels, panelStride, ahead)
        : softmaxGrad<float, true>(block, panels, panelStride, ahead);
  else
    block.slope == 0
        ? softmaxGrad<BFloat16, false>(block, panels, panelStride, ahead)
        : softmaxGrad<BFloat16, true>(block, panels, panelStride, ahead);
}

} // namespace mf
