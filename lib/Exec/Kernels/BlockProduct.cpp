//===- BlockProduct.cpp - Products of packed blocks by AVX-512 ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BlockProduct.h"
#include "Avx512-inl.h"
#include <algorithm>

namespace mf {
namespace {

MF_BEGIN_AVX512

/// Multiplies `Rows` rows and `Panels` panels. The sums stay in registers.
template <int Rows, int Panels>
void multiply(const BlockProduct &product, int64_t row, int64_t panel) {
  const float *a =
      reinterpret_cast<const float *>(product.a) + row * product.aStride;
  const float *b =
      reinterpret_cast<const float *>(product.b) + panel * product.bStride;
  float *c = product.c + row * product.cStride + panel * panelColumns;
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-c-arrays): registers
  __m512 sums[Rows][Panels];
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int j = 0; j < Panels; ++j)
      sums[i][j] =
          product.accumulate
              ? _mm512_loadu_ps(c + i * product.cStride + j * panelColumns)
              : _mm512_setzero_ps();
  for (int64_t k = 0; k < product.cells; ++k) {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-c-arrays): registers
    __m512 columns[Panels];
#pragma unroll
    for (int j = 0; j < Panels; ++j)
      columns[j] = _mm512_loadu_ps(b + j * product.bStride + k * panelColumns);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      const __m512 cell = _mm512_set1_ps(a[i * product.aStride + k]);
#pragma unroll
      for (int j = 0; j < Panels; ++j)
        sums[i][j] = _mm512_fmadd_ps(cell, columns[j], sums[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int j = 0; j < Panels; ++j)
      _mm512_storeu_ps(c + i * product.cStride + j * panelColumns, sums[i][j]);
}

template <int Rows, int Panels>
void multiplyPanels(const BlockProduct &product, int64_t panel) {
  for (int64_t row = 0; row < product.rows; row += Rows)
    multiply<Rows, Panels>(product, row, panel);
}

/// Computes the sums of a few cells, so few that four panels stay in the
/// first-level cache.
void multiplyCells(const BlockProduct &product) {
  const int64_t panels = product.columns / panelColumns;
  int64_t panel = 0;
  for (; panel + 4 <= panels; panel += 4)
    multiplyPanels<4, 4>(product, panel);
  switch (panels - panel) {
  case 3:
    return multiplyPanels<4, 3>(product, panel);
  case 2:
    return multiplyPanels<8, 2>(product, panel);
  case 1:
    return multiplyPanels<16, 1>(product, panel);
  default:
    return;
  }
}

MF_END_AVX512

} // namespace

void runBlockProductOnVectors(const BlockProduct &product) {
  constexpr int64_t mostCells = 64;
  BlockProduct part = product;
  for (int64_t cell = 0; cell < product.cells; cell += mostCells) {
    part.a = product.a + cell;
    part.b = product.b + cell * panelColumns;
    part.cells = std::min(mostCells, product.cells - cell);
    multiplyCells(part);
    part.accumulate = true;
  }
}

void runBlockProduct(DType type, const BlockProduct &product) {
  if (type == DType::F32)
    runBlockProductOnVectors(product);
  else
    runBlockProductOnTiles(product);
}

} // namespace mf
