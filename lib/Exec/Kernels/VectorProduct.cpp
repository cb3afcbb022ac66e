//===- VectorProduct.cpp - Single-threaded matrix products on vectors -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of oneDNN in programs without oneDNN. Blocks of both operands
// that fit the caches are packed in turn (Goto and van de Geijn, 2008: "Anatomy
// of high-performance matrix multiplication"). An element of the result is one
// chain of fused multiply-adds along the depth, so its bits depend only on its
// row of a, its column of b, and the depth.
//
//===----------------------------------------------------------------------===//

#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include "MatrixProduct.h"
#include "Scratch.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/VectorProduct.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "RegisterBlock-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

/// With 4 rows, on NEON 24 sums, 6 vectors of b and one of a.
constexpr int64_t panelVectors = 3;

/// Rows of b that are packed together: a panel of their columns stays in the
/// first-level cache, and `mostPanels` panels and `mostRows` rows of a in the
/// second-level one.
constexpr int64_t blockDepth = 256, mostPanels = 10, mostRows = 64;

HWY_INLINE int64_t getPanelColumns() { return panelVectors * getLanes(); }

/// Packs `lines` lines of `depth` elements side by side: to[k * width + i] is
/// element k of line i, and zero where there is no line.
void packLines(const float *from, int64_t lineStride, int64_t depthStride,
               int64_t lines, int64_t depth, int64_t width, float *to) {
  if (lines < width)
    std::fill_n(to, depth * width, 0.0f);
  if (lineStride == 1)
    for (int64_t k = 0; k < depth; ++k)
      std::copy_n(from + k * depthStride, lines, to + k * width);
  else
    for (int64_t i = 0; i < lines; ++i)
      for (int64_t k = 0; k < depth; ++k)
        to[k * width + i] = from[i * lineStride + k * depthStride];
}

/// Rows of a that are packed by `blockRows`.
struct PackedRows {
  const float *a;
  int64_t depth;

  const float *getBlock(int64_t row) const { return a + row * depth; }
  static int64_t getRowStride() { return 1; }
  static int64_t getDepthStride() { return blockRows; }
};

struct NothingAhead {
  void fetch() {}
};

/// Multiplies panels that are packed one after another: `panel` with the
/// columns of all.
void multiplyPanels(Panel panel, const PackedRows &rows) {
  NothingAhead ahead;
  int64_t columns = panel.columns;
  for (; columns > 0; columns -= getPanelColumns()) {
    panel.columns = std::min(getPanelColumns(), columns);
    multiplyPanel<panelVectors>(panel, rows, ahead);
    panel.b += panel.depth * getPanelColumns();
    panel.c += getPanelColumns();
  }
}

void multiplyOnVectors(const ProductSpec &spec, const float *a, const float *b,
                       float *c) {
  const int64_t mostColumns = mostPanels * getPanelColumns();
  float *packedB = static_cast<float *>(
      getScratch(ScratchUse::Library,
                 (mostColumns + mostRows) * blockDepth * sizeof(float)));
  float *packedA = packedB + mostColumns * blockDepth;
  // Without depth, zeros are still to be written.
  for (int64_t k = 0; k == 0 || k < spec.k; k += blockDepth) {
    const int64_t depth = std::min(blockDepth, spec.k - k);
    for (int64_t column = 0; column < spec.n; column += mostColumns) {
      const int64_t columns = std::min(mostColumns, spec.n - column);
      for (int64_t i = 0; i < columns; i += getPanelColumns()) {
        const int64_t width = std::min(getPanelColumns(), columns - i);
        packLines(b + k * spec.b.rowStride + (column + i) * spec.b.columnStride,
                  spec.b.columnStride, spec.b.rowStride, width, depth,
                  getVectors(width) * getLanes(), packedB + i * depth);
      }
      for (int64_t row = 0; row < spec.m; row += mostRows) {
        const int64_t rows = std::min(mostRows, spec.m - row);
        for (int64_t i = 0; i < rows; i += blockRows)
          packLines(a + (row + i) * spec.a.rowStride + k * spec.a.columnStride,
                    spec.a.rowStride, spec.a.columnStride,
                    std::min(blockRows, rows - i), depth, blockRows,
                    packedA + i * depth);
        multiplyPanels({packedB, c + row * spec.cStride + column, spec.cStride,
                        rows, columns, depth, k == 0 && !spec.accumulate},
                       {packedA, depth});
      }
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

Product::~Product() = default;

namespace {

class VectorProduct : public Product {
public:
  explicit VectorProduct(const ProductSpec &spec) : spec(spec) {}

  void run(const void *a, const void *b, void *c) const override {
    MF_LOOP(multiplyOnVectors)
    (spec, static_cast<const float *>(a), static_cast<const float *>(b),
     static_cast<float *>(c));
  }

private:
  ProductSpec spec;
};

} // namespace

std::shared_ptr<const Product> getVectorProduct(const ProductSpec &spec) {
  if (spec.operandType != DType::F32 || spec.resultType != DType::F32)
    return nullptr;
  return std::make_shared<VectorProduct>(spec);
}

} // namespace mf
#endif // HWY_ONCE
