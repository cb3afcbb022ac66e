//===- BlockPacking.cpp - Rows of a tensor as operands of blocks ----------===//

#include "BlockPacking.h"
#include "Avx512-inl.h"
#include "Tiles.h"
#include <array>

namespace mf {
namespace {

MF_BEGIN_AVX512

HWY_INLINE const char *getLine(const RowBlock &x, int64_t row, int64_t cell) {
  return static_cast<const char *>(
      at(x.data, x.type,
         (row - x.begin) * x.stride + cell * getCellElements(x.type)));
}

/// Whether `rows` rows of a line of cells are all there.
HWY_INLINE bool hasSquare(const RowBlock &x, int64_t row, int64_t rows,
                          int64_t cell) {
  return row >= x.begin && row + rows <= x.end &&
         (cell + lineCells) * getCellElements(x.type) <= x.columns;
}

/// 64 bytes of a row from cell `cell` on; what lies behind its end or in a row
/// that does not exist is zero.
HWY_INLINE __m512i loadLine(const RowBlock &x, int64_t row, int64_t cell) {
  if (row < x.begin || row >= x.end)
    return _mm512_setzero_si512();
  const int64_t elements = getCellElements(x.type);
  const int64_t left = x.columns - cell * elements;
  if (left <= 0)
    return _mm512_setzero_si512();
  const char *from = getLine(x, row, cell);
  if (left >= lineCells * elements)
    return _mm512_loadu_si512(from);
  if (elements == 2)
    return _mm512_maskz_loadu_epi16((uint32_t{1} << left) - 1, from);
  return _mm512_maskz_loadu_epi32((uint32_t{1} << left) - 1, from);
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

/// 16 rows of x of 16 cells each.
HWY_INLINE void readLines(const RowBlock &x, int64_t row, int64_t cell,
                          Square &lines) {
  if (hasSquare(x, row, 16, cell)) {
    const char *from = getLine(x, row, cell);
    const int64_t step = x.stride * getBytes(x.type);
#pragma unroll
    for (int64_t i = 0; i < 16; ++i)
      lines[i] = _mm512_loadu_si512(from + i * step);
    return;
  }
#pragma unroll
  for (int64_t i = 0; i < 16; ++i)
    lines[i] = loadLine(x, row + i, cell);
}

/// 32 rows of x as 16 rows of pairs, of 16 columns each: those from `column` on
/// in `first`, the next 16 in `second`.
HWY_INLINE void readPairs(const RowBlock &x, int64_t row, int64_t column,
                          Square &first, Square &second) {
  const int64_t cell = column / 2;
  if (hasSquare(x, row, 32, cell)) {
    const char *from = getLine(x, row, cell);
    const int64_t step = x.stride * getBytes(x.type);
#pragma unroll
    for (int64_t i = 0; i < 16; ++i) {
      const Pairs pairs =
          interleave(_mm512_loadu_si512(from + 2 * i * step),
                     _mm512_loadu_si512(from + (2 * i + 1) * step));
      first[i] = pairs.first;
      second[i] = pairs.second;
    }
    return;
  }
#pragma unroll
  for (int64_t i = 0; i < 16; ++i) {
    const Pairs pairs = interleave(loadLine(x, row + 2 * i, cell),
                                   loadLine(x, row + 2 * i + 1, cell));
    first[i] = pairs.first;
    second[i] = pairs.second;
  }
}

HWY_INLINE void store(const Square &lines, Cell *to, int64_t stride) {
#pragma unroll
  for (int64_t i = 0; i < 16; ++i)
    _mm512_storeu_si512(to + i * stride, lines[i]);
}

void packPairPanels(const RowBlock &x, Cell *b, int64_t rows, int64_t stride) {
  for (int64_t row = 0; row < rows; row += 32, b += 16 * panelColumns)
    for (int64_t column = 0; column < x.columns; column += 32) {
      Square first, second;
      readPairs(x, row, column, first, second);
      Cell *panel = b + column / panelColumns * stride;
      store(first, panel, panelColumns);
      store(second, panel + stride, panelColumns);
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
  for (int64_t row = 0; row < rows; row += 32)
    for (int64_t column = 0; column < x.columns; column += 32) {
      Square first, second;
      readPairs(x, row, column, first, second);
      transpose(first);
      transpose(second);
      Cell *to = a + column * stride + row / 2;
      store(first, to, stride);
      store(second, to + 16 * stride, stride);
    }
}

void packRowsOfSingles(const RowBlock &x, Cell *a, int64_t rows,
                       int64_t stride) {
  const int64_t columns = roundUpTo(x.columns, 32);
  for (int64_t row = 0; row < rows; row += 16)
    for (int64_t column = 0; column < columns; column += 16) {
      Square lines;
      readLines(x, row, column, lines);
      transpose(lines);
      store(lines, a + column * stride + row, stride);
    }
}

/// The cells of a row of x, rounded up to whole lines.
int64_t getRowCells(const RowBlock &x) {
  return roundUpTo(x.columns, lineCells * getCellElements(x.type)) /
         getCellElements(x.type);
}

void packLines(const RowBlock &x, Cell *a, int64_t rows, int64_t stride) {
  const int64_t cells = getRowCells(x);
  for (int64_t row = 0; row < rows; row += 16, a += 16 * stride)
    for (int64_t cell = 0; cell < cells; cell += lineCells) {
      Square lines;
      readLines(x, row, cell, lines);
      store(lines, a + cell, stride);
    }
}

void packTransposedLines(const RowBlock &x, Cell *b, int64_t rows,
                         int64_t stride) {
  const int64_t cells = getRowCells(x);
  for (int64_t row = 0; row < rows; row += 16, b += stride)
    for (int64_t cell = 0; cell < cells; cell += 16) {
      Square lines;
      readLines(x, row, cell, lines);
      transpose(lines);
      store(lines, b + cell * panelColumns, panelColumns);
    }
}

MF_END_AVX512

} // namespace

void packRows(const RowBlock &x, Cell *a, int64_t rows, int64_t stride) {
  packLines(x, a, rows, stride);
}

void packRowsOfColumns(const RowBlock &x, Cell *a, int64_t rows,
                       int64_t stride) {
  if (x.type == DType::F32)
    packRowsOfSingles(x, a, rows, stride);
  else
    packRowsOfPairs(x, a, rows, stride);
}

void packPanels(const RowBlock &x, Cell *b, int64_t rows, int64_t stride) {
  if (x.type == DType::F32)
    packSinglePanels(x, b, rows, stride);
  else
    packPairPanels(x, b, rows, stride);
}

void packPanelsOfRows(const RowBlock &x, Cell *b, int64_t rows,
                      int64_t stride) {
  packTransposedLines(x, b, rows, stride);
}

} // namespace mf
