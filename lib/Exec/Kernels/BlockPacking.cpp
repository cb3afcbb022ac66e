//===- BlockPacking.cpp - Packs rows of a tensor for block products -------===//
// SPDX-License-Identifier: Apache-2.0

#include "BlockPacking.h"
#include "Avx512-inl.h"
#include "ElementTypes.h"
#include <algorithm>
#include <array>
#include <type_traits>

namespace mf {
namespace {

MF_BEGIN_AVX512

/// The lines of cells that are made from rows of `Source`. They are f32 cells
/// if the types differ.
template <typename Source, bool MakesSingles> struct PackedLines {
  static constexpr int64_t elements =
      MakesSingles || sizeof(Source) == sizeof(Cell) ? 1 : 2;

  explicit PackedLines(const RowBlock &x)
      : data(static_cast<const Source *>(x.data)), begin(x.begin), end(x.end),
        columns(x.columns), stride(x.stride) {}

  /// Returns 64 bytes of a row from cell `cell` on. Bytes past its end, or of a
  /// row that does not exist, are zero.
  HWY_INLINE __m512i load(int64_t row, int64_t cell) const {
    const int64_t left = columns - cell * elements;
    if (row < begin || row >= end || left <= 0)
      return _mm512_setzero_si512();
    return loadPart(data + (row - begin) * stride + cell * elements,
                    static_cast<uint32_t>(
                        (uint64_t{1} << std::min<int64_t>(left, 32)) - 1));
  }

  /// Loads `Count` lines, one below another.
  template <int Count>
  HWY_INLINE void loadBelow(int64_t row, int64_t cell,
                            std::array<__m512i, Count> &lines) const {
    const bool areWhole = row >= begin && row + Count <= end &&
                          (cell + lineCells) * elements <= columns;
    const Source *from = data + (row - begin) * stride + cell * elements;
#pragma unroll
    for (int i = 0; i < Count; ++i)
      lines[i] = areWhole ? loadPart(from + i * stride, ~uint32_t{0})
                          : load(row + i, cell);
  }

  /// Loads the elements of a line that are marked in `first`.
  static HWY_INLINE __m512i loadPart(const Source *from, uint32_t first) {
    if constexpr (elements == 2)
      return _mm512_maskz_loadu_epi16(first, from);
    else if constexpr (!MakesSingles)
      return _mm512_maskz_loadu_epi32(first, from);
    else if constexpr (std::is_same_v<Source, Float16>)
      return _mm512_castps_si512(
          _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first, from)));
    else
      return _mm512_slli_epi32(
          _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first, from)), 16);
  }

  /// Returns the number of cells of a row, rounded up to whole lines.
  int64_t getRowCells() const {
    return roundUpTo(columns, lineCells * elements) / elements;
  }

  const Source *data;
  int64_t begin, end, columns, stride;
};

using PairLines = PackedLines<BFloat16, false>;

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
  // Columns of whole vectors. Unpacking works in each quarter separately.
  const __m512i low = _mm512_unpacklo_epi16(even, odd);
  const __m512i high = _mm512_unpackhi_epi16(even, odd);
  const __m512i firsts = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i seconds = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  return {_mm512_permutex2var_epi64(low, firsts, high),
          _mm512_permutex2var_epi64(low, seconds, high)};
}

HWY_INLINE void store(const Square &lines, Cell *to, int64_t stride) {
#pragma unroll
  for (int64_t i = 0; i < 16; ++i)
    _mm512_storeu_si512(to + i * stride, lines[i]);
}

/// Reads 32 rows as 16 rows of pairs of 16 columns each: those from `column` on
/// in `first`, the next 16 in `second`.
HWY_INLINE void readPairs(const PairLines &x, int64_t row, int64_t column,
                          Square &first, Square &second) {
  std::array<__m512i, 32> lines;
  x.loadBelow<32>(row, column / 2, lines);
#pragma unroll
  for (int64_t i = 0; i < 16; ++i) {
    const Pairs pairs = interleave(lines[2 * i], lines[2 * i + 1]);
    first[i] = pairs.first;
    second[i] = pairs.second;
  }
}

void packPairPanels(const PairLines &x, Cell *b, int64_t rows, int64_t stride) {
  for (int64_t row = 0; row < rows; row += 32, b += 16 * panelColumns)
    for (int64_t column = 0; column < x.columns; column += 32) {
      Square first, second;
      readPairs(x, row, column, first, second);
      Cell *panel = b + column / panelColumns * stride;
      store(first, panel, panelColumns);
      store(second, panel + stride, panelColumns);
    }
}

template <typename X>
void packSinglePanels(const X &x, Cell *b, int64_t rows, int64_t stride) {
  const int64_t columns = roundUpTo(x.columns, 32);
  for (int64_t row = 0; row < rows; ++row, b += panelColumns)
    for (int64_t column = 0; column < columns; column += panelColumns)
      _mm512_storeu_si512(b + column / panelColumns * stride,
                          x.load(row, column));
}

/// 16 rows of 16 pairs each are 32 columns of 32 rows.
void packRowsOfPairs(const PairLines &x, Cell *a, int64_t rows,
                     int64_t stride) {
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

template <typename X>
void packRowsOfSingles(const X &x, Cell *a, int64_t rows, int64_t stride) {
  const int64_t columns = roundUpTo(x.columns, 32);
  for (int64_t row = 0; row < rows; row += 16)
    for (int64_t column = 0; column < columns; column += 16) {
      Square lines;
      x.template loadBelow<16>(row, column, lines);
      transpose(lines);
      store(lines, a + column * stride + row, stride);
    }
}

template <typename X>
void packLines(const X &x, Cell *a, int64_t rows, int64_t stride) {
  const int64_t cells = x.getRowCells();
  for (int64_t row = 0; row < rows; row += 16, a += 16 * stride)
    for (int64_t cell = 0; cell < cells; cell += lineCells) {
      Square lines;
      x.template loadBelow<16>(row, cell, lines);
      store(lines, a + cell, stride);
    }
}

template <typename X>
void packTransposedLines(const X &x, Cell *b, int64_t rows, int64_t stride) {
  const int64_t cells = x.getRowCells();
  for (int64_t row = 0; row < rows; row += 16, b += stride)
    for (int64_t cell = 0; cell < cells; cell += 16) {
      Square lines;
      x.template loadBelow<16>(row, cell, lines);
      transpose(lines);
      store(lines, b + cell * panelColumns, panelColumns);
    }
}

MF_END_AVX512

/// Calls `pack` with the lines of x.
template <typename Pack> void withLines(const RowBlock &x, const Pack &pack) {
  if (x.type == DType::F32)
    pack(PackedLines<float, false>(x));
  else if (x.type == DType::F16)
    pack(PackedLines<Float16, true>(x));
  else if (x.cellType == DType::F32)
    pack(PackedLines<BFloat16, true>(x));
  else
    pack(PairLines(x));
}

} // namespace

void packRows(const RowBlock &x, Cell *a, int64_t rows, int64_t stride) {
  withLines(x, [&](auto lines) { packLines(lines, a, rows, stride); });
}

void packPanelsOfRows(const RowBlock &x, Cell *b, int64_t rows,
                      int64_t stride) {
  withLines(x,
            [&](auto lines) { packTransposedLines(lines, b, rows, stride); });
}

void packRowsOfColumns(const RowBlock &x, Cell *a, int64_t rows,
                       int64_t stride) {
  withLines(x, [&](auto lines) {
    if constexpr (decltype(lines)::elements == 2)
      packRowsOfPairs(lines, a, rows, stride);
    else
      packRowsOfSingles(lines, a, rows, stride);
  });
}

void packPanels(const RowBlock &x, Cell *b, int64_t rows, int64_t stride) {
  withLines(x, [&](auto lines) {
    if constexpr (decltype(lines)::elements == 2)
      packPairPanels(lines, b, rows, stride);
    else
      packSinglePanels(lines, b, rows, stride);
  });
}

} // namespace mf
