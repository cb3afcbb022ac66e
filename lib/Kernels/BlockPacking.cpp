//===- BlockPacking.cpp - Rows of a tensor as operands of blocks ----------===//

#include "BlockPacking.h"
#include "Avx512-inl.h"
#include "Tiles.h"
#include <array>

namespace mf {
namespace {

MF_BEGIN_AVX512

/// 64 bytes of a row from cell `cell` on; what lies behind its end or in a row
/// that does not exist is zero.
HWY_INLINE __m512i loadLine(const RowBlock &x, int64_t row, int64_t cell) {
  if (row < x.begin || row >= x.end)
    return _mm512_setzero_si512();
  const int64_t elements = getCellElements(x.cellType);
  const int64_t left = x.columns - cell * elements;
  if (left <= 0)
    return _mm512_setzero_si512();
  const void *from =
      at(x.data, x.type, (row - x.begin) * x.columns + cell * elements);
  const auto first =
      static_cast<uint32_t>((uint64_t{1} << std::min<int64_t>(left, 32)) - 1);
  if (x.cellType == DType::BF16)
    return _mm512_maskz_loadu_epi16(first, from);
  if (x.type == DType::F32)
    return _mm512_maskz_loadu_epi32(first, from);
  const __m256i halves = _mm256_maskz_loadu_epi16(first, from);
  if (x.type == DType::F16)
    return _mm512_castps_si512(_mm512_cvtph_ps(halves));
  return _mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
}

using Square = std::array<__m512i, 16>;

/// Exchanges rows and columns of 16 x 16 cells.
HWY_INLINE void transpose(Square &lines) {
  Square half;
#pragma unroll
  for (size_t i = 0; i < 16; i += 2) {
    half[i] = _mm512_unpacklo_epi32(lines[i], lines[i + 1]);
    half[i + 1] = _mm512_unpackhi_epi32(lines[i], lines[i + 1]);
  }
#pragma unroll
  for (size_t i = 0; i < 16; i += 4) {
    lines[i] = _mm512_unpacklo_epi64(half[i], half[i + 2]);
    lines[i + 1] = _mm512_unpackhi_epi64(half[i], half[i + 2]);
    lines[i + 2] = _mm512_unpacklo_epi64(half[i + 1], half[i + 3]);
    lines[i + 3] = _mm512_unpackhi_epi64(half[i + 1], half[i + 3]);
  }
  // Now lines[4 g + i] has column i of each quarter of the rows of group g.
#pragma unroll
  for (size_t i = 0; i < 4; ++i) {
    half[i] = _mm512_shuffle_i32x4(lines[i], lines[i + 4], 0x88);
    half[i + 4] = _mm512_shuffle_i32x4(lines[i], lines[i + 4], 0xdd);
    half[i + 8] = _mm512_shuffle_i32x4(lines[i + 8], lines[i + 12], 0x88);
    half[i + 12] = _mm512_shuffle_i32x4(lines[i + 8], lines[i + 12], 0xdd);
  }
#pragma unroll
  for (size_t i = 0; i < 4; ++i) {
    lines[i] = _mm512_shuffle_i32x4(half[i], half[i + 8], 0x88);
    lines[i + 8] = _mm512_shuffle_i32x4(half[i], half[i + 8], 0xdd);
    lines[i + 4] = _mm512_shuffle_i32x4(half[i + 4], half[i + 12], 0x88);
    lines[i + 12] = _mm512_shuffle_i32x4(half[i + 4], half[i + 12], 0xdd);
  }
}

/// Pairs of the elements of two rows: those of the first 16 columns and those
/// of the next 16.
struct Pairs {
  __m512i first, second;
};
HWY_INLINE Pairs interleave(__m512i even, __m512i odd) {
  // Columns of whole vectors: unpacking works in each quarter by itself.
  const __m512i low = _mm512_unpacklo_epi16(even, odd);
  const __m512i high = _mm512_unpackhi_epi16(even, odd);
  const __m512i firsts = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i seconds = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  return {_mm512_permutex2var_epi64(low, firsts, high),
          _mm512_permutex2var_epi64(low, seconds, high)};
}

void packPairPanels(const RowBlock &x, Cell *b, int64_t rows, int64_t stride) {
  for (int64_t row = 0; row < rows; row += 2, b += panelColumns)
    for (int64_t column = 0; column < x.columns; column += 32) {
      const Pairs pairs = interleave(loadLine(x, row, column / 2),
                                     loadLine(x, row + 1, column / 2));
      Cell *panel = b + column / panelColumns * stride;
      _mm512_storeu_si512(panel, pairs.first);
      _mm512_storeu_si512(panel + stride, pairs.second);
    }
}

void packSinglePanels(const RowBlock &x, Cell *b, int64_t rows,
                      int64_t stride) {
  const int64_t columns = roundUpTo(x.columns, 32);
  for (int64_t row = 0; row < rows; ++row, b += panelColumns)
    for (int64_t column = 0; column < columns; column += panelColumns)
      _mm512_storeu_si512(b + column / panelColumns * stride,
                          loadLine(x, row, column));
}

/// 16 rows of 16 pairs each are 32 columns of 32 rows.
void packRowsOfPairs(const RowBlock &x, Cell *a, int64_t rows, int64_t stride) {
  for (int64_t column = 0; column < x.columns; column += 32)
    for (int64_t row = 0; row < rows; row += 32) {
      Square first, second;
#pragma unroll
      for (int64_t i = 0; i < 16; ++i) {
        const Pairs pairs =
            interleave(loadLine(x, row + 2 * i, column / 2),
                       loadLine(x, row + 2 * i + 1, column / 2));
        first[i] = pairs.first;
        second[i] = pairs.second;
      }
      transpose(first);
      transpose(second);
      Cell *to = a + column * stride + row / 2;
#pragma unroll
      for (int64_t i = 0; i < 16; ++i) {
        _mm512_storeu_si512(to + i * stride, first[i]);
        _mm512_storeu_si512(to + (i + 16) * stride, second[i]);
      }
    }
}

void packRowsOfSingles(const RowBlock &x, Cell *a, int64_t rows,
                       int64_t stride) {
  const int64_t columns = roundUpTo(x.columns, 32);
  for (int64_t column = 0; column < columns; column += 16)
    for (int64_t row = 0; row < rows; row += 16) {
      Square lines;
#pragma unroll
      for (int64_t i = 0; i < 16; ++i)
        lines[i] = loadLine(x, row + i, column);
      transpose(lines);
      Cell *to = a + column * stride + row;
#pragma unroll
      for (int64_t i = 0; i < 16; ++i)
        _mm512_storeu_si512(to + i * stride, lines[i]);
    }
}

/// The cells of a row of x, rounded up to whole lines.
int64_t getRowCells(const RowBlock &x) {
  return roundUpTo(x.columns, lineCells * getCellElements(x.cellType)) /
         getCellElements(x.cellType);
}

void packLines(const RowBlock &x, Cell *a, int64_t rows, int64_t stride) {
  const int64_t cells = getRowCells(x);
  for (int64_t row = 0; row < rows; ++row, a += stride)
    for (int64_t cell = 0; cell < cells; cell += lineCells)
      _mm512_storeu_si512(a + cell, loadLine(x, row, cell));
}

void packTransposedLines(const RowBlock &x, Cell *b, int64_t rows,
                         int64_t stride) {
  const int64_t cells = getRowCells(x);
  for (int64_t row = 0; row < rows; row += 16, b += stride)
    for (int64_t cell = 0; cell < cells; cell += 16) {
      Square lines;
#pragma unroll
      for (int64_t i = 0; i < 16; ++i)
        lines[i] = loadLine(x, row + i, cell);
      transpose(lines);
#pragma unroll
      for (int64_t i = 0; i < 16; ++i)
        _mm512_storeu_si512(b + (cell + i) * panelColumns, lines[i]);
    }
}

MF_END_AVX512

} // namespace

void packRows(const RowBlock &x, Cell *a, int64_t rows, int64_t stride) {
  packLines(x, a, rows, stride);
}

void packRowsOfColumns(const RowBlock &x, Cell *a, int64_t rows,
                       int64_t stride) {
  if (x.cellType == DType::F32)
    packRowsOfSingles(x, a, rows, stride);
  else
    packRowsOfPairs(x, a, rows, stride);
}

void packPanels(const RowBlock &x, Cell *b, int64_t rows, int64_t stride) {
  if (x.cellType == DType::F32)
    packSinglePanels(x, b, rows, stride);
  else
    packPairPanels(x, b, rows, stride);
}

void packPanelsOfRows(const RowBlock &x, Cell *b, int64_t rows,
                      int64_t stride) {
  packTransposedLines(x, b, rows, stride);
}

} // namespace mf
