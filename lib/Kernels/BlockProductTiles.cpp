//===- BlockProductTiles.cpp - Products of packed blocks by AMX -----------===//

#include "BlockProduct.h"
#include "hwy/base.h"
#include <immintrin.h>

namespace mf {
namespace {

HWY_PUSH_ATTRIBUTES("amx-tile,amx-bf16")

constexpr int64_t lineBytes = lineCells * sizeof(Cell);

/// Up to two by two tiles of c in the registers 0 to 3, of a in 4 and 5, and of
/// b in 6 and 7.
template <bool TwoRows, bool TwoColumns>
void multiply(const BlockProduct &product, int64_t row, int64_t panel) {
  const int64_t aBytes = product.aStride * static_cast<int64_t>(sizeof(Cell));
  const int64_t cBytes = product.cStride * static_cast<int64_t>(sizeof(float));
  const Cell *a = product.a + row * product.aStride;
  const Cell *below = a + 16 * product.aStride;
  const Cell *b = product.b + panel * product.bStride;
  const Cell *beside = b + product.bStride;
  float *c = product.c + row * product.cStride + panel * panelColumns;
  float *cBelow = c + 16 * product.cStride;
  if (product.accumulate) {
    _tile_loadd(0, c, cBytes);
    if (TwoColumns)
      _tile_loadd(1, c + panelColumns, cBytes);
    if (TwoRows)
      _tile_loadd(2, cBelow, cBytes);
    if (TwoRows && TwoColumns)
      _tile_loadd(3, cBelow + panelColumns, cBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t k = 0; k < product.cells; k += lineCells) {
    _tile_loadd(6, b + k * panelColumns, lineBytes);
    _tile_loadd(4, a + k, aBytes);
    _tile_dpbf16ps(0, 4, 6);
    if (TwoColumns) {
      _tile_loadd(7, beside + k * panelColumns, lineBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (TwoRows) {
      _tile_loadd(5, below + k, aBytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (TwoRows && TwoColumns)
      _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, cBytes);
  if (TwoColumns)
    _tile_stored(1, c + panelColumns, cBytes);
  if (TwoRows)
    _tile_stored(2, cBelow, cBytes);
  if (TwoRows && TwoColumns)
    _tile_stored(3, cBelow + panelColumns, cBytes);
}

template <bool TwoColumns>
void multiplyPanels(const BlockProduct &product, int64_t panel) {
  int64_t row = 0;
  for (; row + 32 <= product.rows; row += 32)
    multiply<true, TwoColumns>(product, row, panel);
  if (row < product.rows)
    multiply<false, TwoColumns>(product, row, panel);
}

HWY_POP_ATTRIBUTES

} // namespace

void runBlockProductOnTiles(const BlockProduct &product) {
  const int64_t panels = product.columns / panelColumns;
  int64_t panel = 0;
  for (; panel + 2 <= panels; panel += 2)
    multiplyPanels<true>(product, panel);
  if (panel < panels)
    multiplyPanels<false>(product, panel);
}

} // namespace mf
