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
#include "OneDnn.h"
#include "Scratch.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/VectorProduct.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "Simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

/// The shape of a block in registers: on NEON 24 sums, 6 vectors of b and one
/// of a.
constexpr int64_t blockRows = 4, blockVectors = 3;

/// Rows of b that are packed together: a panel of their columns stays in the
/// first-level cache, and `mostPanels` panels and `mostRows` rows of a in the
/// second-level one.
constexpr int64_t blockDepth = 256, mostPanels = 10, mostRows = 64;

HWY_INLINE int64_t getPanelColumns() { return blockVectors * getLanes(); }

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

/// A block of c and what it is the product of: rows packed by `blockRows`, and
/// a panel of columns. The last vector of c has `last` lanes.
struct PackedBlock {
  const float *a, *b;
  float *c;
  int64_t cStride, depth, last;
  bool startsAtZero;
};

template <int Rows, int Vectors>
HWY_NOINLINE void multiplyBlock(const PackedBlock &block) {
  const int64_t lanes = getLanes();
  FloatVector sums[Rows][Vectors];
  for (int64_t row = 0; row < Rows; ++row)
    for (int64_t i = 0; i < Vectors; ++i) {
      const float *c = block.c + row * block.cStride + i * lanes;
      sums[row][i] = block.startsAtZero ? hn::Zero(floats)
                     : i + 1 == Vectors ? loadTail(c, block.last)
                                        : load(c);
    }
  const float *a = block.a, *b = block.b;
  for (int64_t k = 0; k < block.depth; ++k) {
    FloatVector values[Vectors];
    for (int64_t i = 0; i < Vectors; ++i)
      values[i] = load(b + i * lanes);
    for (int64_t row = 0; row < Rows; ++row) {
      const FloatVector factor = hn::Set(floats, a[row]);
      for (int64_t i = 0; i < Vectors; ++i)
        sums[row][i] = hn::MulAdd(factor, values[i], sums[row][i]);
    }
    a += blockRows;
    b += getPanelColumns();
  }
  for (int64_t row = 0; row < Rows; ++row)
    for (int64_t i = 0; i < Vectors; ++i) {
      float *c = block.c + row * block.cStride + i * lanes;
      if (i + 1 == Vectors)
        storeTail(sums[row][i], c, block.last);
      else
        store(sums[row][i], c);
    }
}

template <int Vectors>
void multiplyRows(const PackedBlock &block, int64_t rows) {
  switch (rows) {
  case 1:
    return multiplyBlock<1, Vectors>(block);
  case 2:
    return multiplyBlock<2, Vectors>(block);
  case 3:
    return multiplyBlock<3, Vectors>(block);
  default:
    return multiplyBlock<4, Vectors>(block);
  }
}

/// Multiplies `rows` packed rows by `columns` packed columns.
void multiplyPanels(PackedBlock block, int64_t rows, int64_t columns) {
  const int64_t lanes = getLanes();
  const float *a = block.a;
  float *c = block.c;
  for (int64_t column = 0; column < columns; column += getPanelColumns()) {
    const int64_t width = std::min(getPanelColumns(), columns - column);
    const int64_t vectors = (width + lanes - 1) / lanes;
    block.last = width - (vectors - 1) * lanes;
    for (int64_t row = 0; row < rows; row += blockRows) {
      block.a = a + row * block.depth;
      block.c = c + row * block.cStride + column;
      const int64_t count = std::min(blockRows, rows - row);
      if (vectors == 1)
        multiplyRows<1>(block, count);
      else if (vectors == 2)
        multiplyRows<2>(block, count);
      else
        multiplyRows<3>(block, count);
    }
    block.b += block.depth * getPanelColumns();
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
      for (int64_t i = 0; i < columns; i += getPanelColumns())
        packLines(b + k * spec.b.rowStride + (column + i) * spec.b.columnStride,
                  spec.b.columnStride, spec.b.rowStride,
                  std::min(getPanelColumns(), columns - i), depth,
                  getPanelColumns(), packedB + i * depth);
      for (int64_t row = 0; row < spec.m; row += mostRows) {
        const int64_t rows = std::min(mostRows, spec.m - row);
        for (int64_t i = 0; i < rows; i += blockRows)
          packLines(a + (row + i) * spec.a.rowStride + k * spec.a.columnStride,
                    spec.a.rowStride, spec.a.columnStride,
                    std::min(blockRows, rows - i), depth, blockRows,
                    packedA + i * depth);
        multiplyPanels({packedA, packedB, c + row * spec.cStride + column,
                        spec.cStride, depth, 0, k == 0 && !spec.accumulate},
                       rows, columns);
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
