//===- BlockProductTiles.cpp - Products of packed blocks by AMX -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "BlockProduct.h"
#include "hwy/base.h"
#include <algorithm>
#include <immintrin.h>

namespace mf {
namespace {

HWY_PUSH_ATTRIBUTES("amx-tile,amx-bf16")

constexpr int64_t lineBytes = lineCells * sizeof(Cell);

/// Up to two by two tiles of c, which are in the registers 0 to 3, of a in 4
/// and 5, and of b in 6 and 7.
template <bool TwoRows, bool TwoColumns> class TileRegisters {
public:
  HWY_INLINE TileRegisters(const BlockProduct &product, int64_t row,
                           int64_t panel)
      : aBytes(product.aStride * static_cast<int64_t>(sizeof(Cell))),
        cBytes(product.cStride * static_cast<int64_t>(sizeof(float))),
        a(product.a + row * product.aStride), below(a + 16 * product.aStride),
        b(product.b + panel * product.bStride), beside(b + product.bStride),
        c(product.c + row * product.cStride + panel * panelColumns),
        cBelow(c + 16 * product.cStride) {}

  HWY_INLINE void load() const {
    _tile_loadd(0, c, cBytes);
    if (TwoColumns)
      _tile_loadd(1, c + panelColumns, cBytes);
    if (TwoRows)
      _tile_loadd(2, cBelow, cBytes);
    if (TwoRows && TwoColumns)
      _tile_loadd(3, cBelow + panelColumns, cBytes);
  }

  static HWY_INLINE void clear() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }

  /// Adds the products of a line of cells.
  HWY_INLINE void add(int64_t cell) const {
    _tile_loadd(6, b + cell * panelColumns, lineBytes);
    _tile_loadd(4, a + cell, aBytes);
    _tile_dpbf16ps(0, 4, 6);
    if (TwoColumns) {
      _tile_loadd(7, beside + cell * panelColumns, lineBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (TwoRows) {
      _tile_loadd(5, below + cell, aBytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if (TwoRows && TwoColumns)
      _tile_dpbf16ps(3, 5, 7);
  }

  HWY_INLINE void store() const {
    _tile_stored(0, c, cBytes);
    if (TwoColumns)
      _tile_stored(1, c + panelColumns, cBytes);
    if (TwoRows)
      _tile_stored(2, cBelow, cBytes);
    if (TwoRows && TwoColumns)
      _tile_stored(3, cBelow + panelColumns, cBytes);
  }

private:
  int64_t aBytes, cBytes;
  const Cell *a, *below, *b, *beside;
  float *c, *cBelow;
};

template <bool TwoRows, bool TwoColumns>
void multiplyTiles(const BlockProduct &product, int64_t row, int64_t panel) {
  const TileRegisters<TwoRows, TwoColumns> tiles(product, row, panel);
  if (product.accumulate)
    tiles.load();
  else
    tiles.clear();
  for (int64_t cell = 0; cell < product.cells; cell += lineCells)
    tiles.add(cell);
  tiles.store();
}

/// Multiplies one line of cells. The sums stay in registers between lines.
void multiplyLine(const BlockProduct &product, int64_t row, int64_t panel,
                  int64_t cell) {
  const TileRegisters<true, true> tiles(product, row, panel);
  if (cell == 0 && product.accumulate)
    tiles.load();
  else if (cell == 0)
    tiles.clear();
  tiles.add(cell);
  if (cell + lineCells == product.cells)
    tiles.store();
}

template <bool TwoColumns>
void multiplyPanels(const BlockProduct &product, int64_t panel) {
  int64_t row = 0;
  for (; row + 32 <= product.rows; row += 32)
    multiplyTiles<true, TwoColumns>(product, row, panel);
  if (row < product.rows)
    multiplyTiles<false, TwoColumns>(product, row, panel);
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

void ProductQueue::add(const BlockProduct &product) {
  if (cellType == DType::F32)
    return runBlockProductOnVectors(product);
  products.push_back(product);
  lines +=
      product.rows / 32 * (product.columns / 32) * (product.cells / lineCells);
}

void ProductQueue::run(int64_t count) {
  count = std::min(count, lines);
  lines -= count;
  for (; count > 0; --count) {
    const BlockProduct &product = products[first];
    multiplyLine(product, row, panel, cell);
    cell += lineCells;
    if (cell < product.cells)
      continue;
    cell = 0;
    row += 32;
    if (row < product.rows)
      continue;
    row = 0;
    panel += 2;
    if (panel * panelColumns < product.columns)
      continue;
    panel = 0;
    ++first;
  }
  if (lines > 0)
    return;
  products.clear();
  first = 0;
}

} // namespace mf
