//===- PackedAttentionGradLoops.cpp - Gradients of packed blocks ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "PackedAttentionLoops.h"
#include "PackedScores-inl.h"

namespace mf {
namespace {

MF_BEGIN_AVX512

/// The queries, of 32, that see a key.
struct Seen {
  __mmask16 first, second;
};

/// The probabilities and their gradients for one key and 32 queries.
struct KeyAndQueries {
  Columns p, ds;
};

/// The statistics of 32 queries from column `column` on, multiplied by the
/// factors of scores and gradients.
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

/// Computes p and ds of one key and 16 queries.
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

/// Writes the columns of two keys to panels of 16 queries, from `to` on.
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

/// Loops over the keys for 32 queries, starting with column `column`. All of
/// them see all keys if `SeesAll`.
template <typename Element, bool HasSlope, bool SeesAll>
void softmaxGradOfColumns(const PackedGradBlock &block, Cell *panels,
                          int64_t panelStride, int64_t column,
                          MemoryAhead &ahead, ProductQueue &products,
                          int64_t productLines) {
  constexpr int64_t elements = cellElements<Element>;
  constexpr Seen all = {0xffff, 0xffff};
  constexpr int64_t linesAtOnce = 4;
  const QueryColumns queries(block, column, Exponential<Element>::unit);
  panels += column / panelColumns * panelStride;
  // Cells are written after the numbers in their place have been read.
  Cell *p = reinterpret_cast<Cell *>(block.scores) + column / elements;
  Cell *ds = reinterpret_cast<Cell *>(block.gradients) + column / elements;
  for (int64_t row = 0; row < block.rows; row += 2) {
    ahead.fetch(linesAtOnce);
    products.run(productLines);
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
                 int64_t panelStride, MemoryAhead &ahead,
                 ProductQueue &products) {
  const int64_t pairs = block.rows / 2 * (block.columns / 32);
  const int64_t lines = (products.getLines() + pairs - 1) / pairs;
  for (int64_t column = 0; column < block.columns; column += 32) {
    const int64_t lastDistance = block.distance + block.rows - 1 - column;
    if (block.rows <= block.keys && (!block.causal || lastDistance <= 0))
      softmaxGradOfColumns<Element, HasSlope, true>(
          block, panels, panelStride, column, ahead, products, lines);
    else
      softmaxGradOfColumns<Element, HasSlope, false>(
          block, panels, panelStride, column, ahead, products, lines);
  }
  products.run(products.getLines());
}

MF_END_AVX512

} // namespace

void runPackedSoftmaxGrad(DType cellType, const PackedGradBlock &block,
                          Cell *panels, int64_t panelStride, MemoryAhead &ahead,
                          ProductQueue &products) {
  if (cellType == DType::F32)
    block.slope == 0
        ? softmaxGrad<float, false>(block, panels, panelStride, ahead, products)
        : softmaxGrad<float, true>(block, panels, panelStride, ahead, products);
  else
    block.slope == 0 ? softmaxGrad<BFloat16, false>(block, panels, panelStride,
                                                    ahead, products)
                     : softmaxGrad<BFloat16, true>(block, panels, panelStride,
                                                   ahead, products);
}

} // namespace mf
