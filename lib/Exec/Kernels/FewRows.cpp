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

#include "Simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

/// The number of rows of b that are packed together. Panels of them stay in the
/// first-level cache, and all columns of these rows, which are contiguous in
/// memory, in the second-level cache.
constexpr int64_t blockDepth = 64;

/// The shape of a block in registers: 24 sums, 6 vectors of b and one of a.
constexpr int64_t blockRows = 4, blockVectors = 6;

/// Fetches data that are read later into the second-level cache, line by line
/// in memory order, some in each step of the work.
class Fetch {
public:
  /// Fetches `rows` rows of `columns` elements in `steps` steps.
  Fetch(const float *from, int64_t stride, int64_t rows, int64_t columns,
        int64_t steps)
      : line(from), rowEnd(from + columns), columns(columns),
        gap(stride - columns), rows(rows),
        linesPerStep(
            (rows * ((columns + lineSize - 1) / lineSize) + steps - 1) /
            steps) {}

  HWY_INLINE void step() {
    for (int64_t i = 0; i < linesPerStep && rows > 0; ++i) {
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
  int64_t columns, gap, rows, linesPerStep;
};

/// `Vectors` vectors of columns of b, packed, and of c. The last vector of c
/// has `last` lanes.
struct Panel {
  const float *b;
  float *c;
  int64_t last;
};

template <int Rows, int Vectors>
HWY_INLINE void multiplyBlock(const FewRows &product, const float *a,
                              int64_t depth, const Panel &panel, bool isFirst,
                              Fetch &later) {
  // A copy that stays in registers while it is used.
  Fetch fetch = later;
  const int64_t lanes = getLanes();
  FloatVector sums[Rows][Vectors];
  for (int64_t row = 0; row < Rows; ++row)
    for (int64_t i = 0; i < Vectors; ++i) {
      const float *c = panel.c + row * product.cStride + i * lanes;
      sums[row][i] = isFirst            ? hn::Zero(floats)
                     : i + 1 == Vectors ? loadTail(c, panel.last)
                                        : load(c);
    }
  const float *b = panel.b;
  for (int64_t k = 0; k < depth; ++k, b += Vectors * lanes) {
    fetch.step();
    FloatVector values[Vectors];
    for (int64_t i = 0; i < Vectors; ++i)
      values[i] = hn::Load(floats, b + i * lanes);
    for (int64_t row = 0; row < Rows; ++row) {
      const FloatVector factor = hn::Set(floats, a[row * product.aStride + k]);
      for (int64_t i = 0; i < Vectors; ++i)
        sums[row][i] = hn::MulAdd(factor, values[i], sums[row][i]);
    }
  }
  later = fetch;
  for (int64_t row = 0; row < Rows; ++row)
    for (int64_t i = 0; i < Vectors; ++i) {
      float *c = panel.c + row * product.cStride + i * lanes;
      if (i + 1 == Vectors)
        storeTail(sums[row][i], c, panel.last);
      else
        store(sums[row][i], c);
    }
}

template <int Vectors>
HWY_NOINLINE void multiplyPanel(const FewRows &product, int64_t k,
                                int64_t depth, Panel panel, Fetch &fetch) {
  const float *a = product.a + k;
  const bool isFirst = k == 0;
  for (int64_t row = 0; row < product.rows; row += blockRows) {
    switch (std::min(blockRows, product.rows - row)) {
    case 1:
      multiplyBlock<1, Vectors>(product, a, depth, panel, isFirst, fetch);
      break;
    case 2:
      multiplyBlock<2, Vectors>(product, a, depth, panel, isFirst, fetch);
      break;
    case 3:
      multiplyBlock<3, Vectors>(product, a, depth, panel, isFirst, fetch);
      break;
    default:
      multiplyBlock<4, Vectors>(product, a, depth, panel, isFirst, fetch);
      break;
    }
    a += blockRows * product.aStride;
    panel.c += blockRows * product.cStride;
  }
}

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
  const int64_t lanes = getLanes(), panelColumns = blockVectors * lanes;
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
      const int64_t vectors = (columns + lanes - 1) / lanes;
      packPanel(b + column, product.bStride, depth, columns, packed);
      const Panel panel = {packed, product.c + column,
                           columns - (vectors - 1) * lanes};
      switch (vectors) {
      case 1:
        multiplyPanel<1>(product, k, depth, panel, fetch);
        break;
      case 2:
        multiplyPanel<2>(product, k, depth, panel, fetch);
        break;
      case 3:
        multiplyPanel<3>(product, k, depth, panel, fetch);
        break;
      case 4:
        multiplyPanel<4>(product, k, depth, panel, fetch);
        break;
      case 5:
        multiplyPanel<5>(product, k, depth, panel, fetch);
        break;
      default:
        multiplyPanel<6>(product, k, depth, panel, fetch);
        break;
      }
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
