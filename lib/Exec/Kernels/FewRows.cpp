//===- FewRows.cpp - Products of few rows ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FewRows.h"
#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include "Scratch.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/FewRows.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "RegisterBlock-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

/// The number of rows of b that are packed together. Panels of them stay in the
/// first-level cache, and all columns of these rows, which are contiguous in
/// memory, in the second-level cache.
constexpr int64_t blockDepth = 64;

/// With 4 rows, 24 sums, 6 vectors of b and one of a.
constexpr int64_t panelVectors = 6;

/// Fetches data that are read later into the second-level cache, line by line
/// in memory order, some with each row of b.
class Fetch {
public:
  /// Fetches `rows` rows of `columns` elements in `calls` calls of `fetch`.
  Fetch(const float *from, int64_t stride, int64_t rows, int64_t columns,
        int64_t calls)
      : line(from), rowEnd(from + columns), columns(columns),
        gap(stride - columns), rows(rows),
        linesPerCall(
            (rows * ((columns + lineSize - 1) / lineSize) + calls - 1) /
            calls) {}

  HWY_INLINE void fetch() {
    for (int64_t i = 0; i < linesPerCall && rows > 0; ++i) {
      __builtin_prefetch(line, 0, 2);
      line += lineSize;
      if (line < rowEnd)
        continue;
      line = rowEnd + gap;
      rowEnd = line + columns;
      --rows;
    }
  }

private:
  /// Elements of a line of the cache.
  static constexpr int64_t lineSize = 16;

  const float *line, *rowEnd;
  int64_t columns, gap, rows, linesPerCall;
};

/// Rows of a where they are.
struct StridedRows {
  const float *a;
  int64_t stride;

  const float *getBlock(int64_t row) const { return a + row * stride; }
  int64_t getRowStride() const { return stride; }
  static int64_t getDepthStride() { return 1; }
};

/// Packs vectors of `columns` columns at b, row after row, with zeros in the
/// lanes after the last column.
HWY_INLINE void packPanel(const float *b, int64_t stride, int64_t depth,
                          int64_t columns, float *to) {
  for (int64_t k = 0; k < depth; ++k, b += stride)
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      hn::Store(part.get(b + i), floats, to);
      to += getLanes();
    });
}

void multiplyOfTarget(const FewRows &product) {
  const int64_t panelColumns = panelVectors * getLanes();
  float *packed = static_cast<float *>(
      getScratch(ScratchUse::Tile, blockDepth * panelColumns * sizeof(float)));
  const int64_t panels = (product.columns + panelColumns - 1) / panelColumns;
  const int64_t rowBlocks = (product.rows + blockRows - 1) / blockRows;
  for (int64_t k = 0; k < product.depth; k += blockDepth) {
    const int64_t depth = std::min(blockDepth, product.depth - k);
    const float *b = product.b + k * product.bStride;
    const bool isLast = k + depth == product.depth;
    const float *later = isLast ? product.next : b + depth * product.bStride;
    const int64_t laterRows =
        isLast ? product.depth : product.depth - k - depth;
    Fetch fetch(later, product.bStride,
                later ? std::min(blockDepth, laterRows) : 0, product.columns,
                panels * rowBlocks * depth);
    for (int64_t column = 0; column < product.columns; column += panelColumns) {
      const int64_t columns = std::min(panelColumns, product.columns - column);
      packPanel(b + column, product.bStride, depth, columns, packed);
      multiplyPanel<panelVectors>(
          Panel{packed, product.c + column, product.cStride, product.rows,
                columns, depth, k == 0},
          StridedRows{product.a + k, product.aStride}, fetch);
    }
  }
}

bool isFastOnTarget() { return true; }

#else

void multiplyOfTarget(const FewRows & /*product*/) {}
bool isFastOnTarget() { return false; }

#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

bool multipliesFewRows() { return MF_LOOP(isFastOnTarget)(); }

void multiplyFewRows(const FewRows &product) {
  MF_LOOP(multiplyOfTarget)(product);
}

} // namespace mf
#endif
