//===- PackedAttentionLoops.cpp - Softmax of packed blocks ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PackedAttentionLoops.h"
#include "PackedScores-inl.h"
#include <array>
#include <limits>

namespace mf {
namespace {

MF_BEGIN_AVX512

HWY_INLINE int64_t countVisible(const ScoreBlock &block, int64_t row) {
  return std::clamp<int64_t>(block.visible + row * block.visiblePerRow, 0,
                             block.columns);
}

/// Computes score = scale * score + bias.
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
/// row of the block, so that all rows take the same branches, which the
/// processor predicts.
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

/// Returns exp(scale * score - shift) of 16 scores.
template <typename Element>
HWY_INLINE __m512 getExponentials(const float *scores, __m512 scale,
                                  __m512 shift) {
  return Exponential<Element>::get(
      _mm512_fmsub_ps(_mm512_loadu_ps(scores), scale, shift));
}

/// Computes the exponentials of a row. Returns their sums.
template <typename Element>
HWY_INLINE __m512 exponentiate(float *scores, int64_t columns,
                               const RowColumns &row, float scale,
                               float shift) {
  // Cells are written after the scores in their place have been read.
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

/// Returns the factors that correct the previous sums. A factor is 1 if the
/// maximum has not changed.
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
  // Only a positive factor commutes with the maximum.
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

} // namespace mf
