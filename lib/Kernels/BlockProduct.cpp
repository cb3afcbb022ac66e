//===- BlockProduct.cpp - Products of packed blocks by AVX-512 ------------===//

#include "BlockProduct.h"
#include "Avx512-inl.h"

namespace mf {
namespace {

MF_BEGIN_AVX512

/// What a vector of cells of a column each adds to sums.
struct PairSteps {
  static HWY_INLINE __m512 add(__m512 sums, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)b);
  }
};
struct SingleSteps {
  static HWY_INLINE __m512 add(__m512 sums, __m512i a, __m512i b) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b),
                           sums);
  }
};

/// The product of `Rows` rows and `Panels` panels, whose sums stay in
/// registers.
template <typename Steps, int Rows, int Panels>
void multiply(const BlockProduct &product, int64_t row, int64_t panel) {
  const Cell *a = product.a + row * product.aStride;
  const Cell *b = product.b + panel * product.bStride;
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
    __m512i columns[Panels];
#pragma unroll
    for (int j = 0; j < Panels; ++j)
      columns[j] =
          _mm512_loadu_si512(b + j * product.bStride + k * panelColumns);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      const __m512i cell =
          _mm512_set1_epi32(static_cast<int>(a[i * product.aStride + k]));
#pragma unroll
      for (int j = 0; j < Panels; ++j)
        sums[i][j] = Steps::add(sums[i][j], cell, columns[j]);
    }
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int j = 0; j < Panels; ++j)
      _mm512_storeu_ps(c + i * product.cStride + j * panelColumns, sums[i][j]);
}

template <typename Steps, int Rows, int Panels>
void multiplyPanels(const BlockProduct &product, int64_t panel) {
  for (int64_t row = 0; row < product.rows; row += Rows)
    multiply<Steps, Rows, Panels>(product, row, panel);
}

template <typename Steps> void multiplyAll(const BlockProduct &product) {
  const int64_t panels = product.columns / panelColumns;
  int64_t panel = 0;
  for (; panel + 4 <= panels; panel += 4)
    multiplyPanels<Steps, 4, 4>(product, panel);
  switch (panels - panel) {
  case 3:
    return multiplyPanels<Steps, 4, 3>(product, panel);
  case 2:
    return multiplyPanels<Steps, 8, 2>(product, panel);
  case 1:
    return multiplyPanels<Steps, 16, 1>(product, panel);
  default:
    return;
  }
}

MF_END_AVX512

} // namespace

void runBlockProduct(MatrixUnit unit, DType type, const BlockProduct &product) {
  if (type == DType::F32)
    multiplyAll<SingleSteps>(product);
  else if (unit == MatrixUnit::Amx)
    runBlockProductOnTiles(product);
  else
    multiplyAll<PairSteps>(product);
}

} // namespace mf
