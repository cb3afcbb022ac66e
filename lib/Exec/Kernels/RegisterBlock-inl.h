//===- RegisterBlock-inl.h - Blocks of products in registers --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each instruction set by the files that Highway compiles
// several times (see foreach_target.h). The sums of a block of c stay in
// registers while rows of b are multiplied. An element of c is one chain of
// fused multiply-adds along the depth.
//
//===----------------------------------------------------------------------===//

#if defined(MF_LIB_KERNELS_REGISTERBLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MF_LIB_KERNELS_REGISTERBLOCK_INL_H
#undef MF_LIB_KERNELS_REGISTERBLOCK_INL_H
#else
#define MF_LIB_KERNELS_REGISTERBLOCK_INL_H
#endif

#include "Simd-inl.h"
#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

/// The most rows of a block in registers.
constexpr int64_t blockRows = 4;

/// The number of vectors that hold `columns` columns.
HWY_INLINE int64_t getVectors(int64_t columns) {
  return (columns + getLanes() - 1) / getLanes();
}

/// c[rows, columns] = a[rows, depth] b[depth, columns], plus c unless it starts
/// at zero. Rows of b are packed in whole vectors, row after row.
struct Panel {
  const float *b;
  float *c;
  int64_t cStride, rows, columns, depth;
  bool startsAtZero;
};

/// Multiplies a block. `A` is where rows of a are in memory. `ahead.fetch()` is
/// called for each row of b.
template <int Rows, int Vectors, typename A, typename Ahead>
HWY_INLINE void multiplyBlock(const Panel &panel, const A &rows, int64_t row,
                              Ahead &ahead) {
  // A copy that stays in registers while it is used.
  Ahead copy = ahead;
  const int64_t lanes = getLanes();
  const int64_t tail = panel.columns - (Vectors - 1) * lanes;
  FloatVector sums[Rows][Vectors];
  for (int64_t r = 0; r < Rows; ++r)
    for (int64_t i = 0; i < Vectors; ++i) {
      const float *c = panel.c + (row + r) * panel.cStride + i * lanes;
      sums[r][i] = panel.startsAtZero ? hn::Zero(floats)
                   : i + 1 == Vectors ? loadTail(c, tail)
                                      : load(c);
    }
  const float *a = rows.getBlock(row), *b = panel.b;
  for (int64_t k = 0; k < panel.depth; ++k) {
    copy.fetch();
    FloatVector values[Vectors];
    for (int64_t i = 0; i < Vectors; ++i)
      values[i] = load(b + i * lanes);
    for (int64_t r = 0; r < Rows; ++r) {
      const FloatVector factor = hn::Set(floats, a[r * rows.getRowStride()]);
      for (int64_t i = 0; i < Vectors; ++i)
        sums[r][i] = hn::MulAdd(factor, values[i], sums[r][i]);
    }
    a += rows.getDepthStride();
    b += Vectors * lanes;
  }
  ahead = copy;
  for (int64_t r = 0; r < Rows; ++r)
    for (int64_t i = 0; i < Vectors; ++i) {
      float *c = panel.c + (row + r) * panel.cStride + i * lanes;
      if (i + 1 == Vectors)
        storeTail(sums[r][i], c, tail);
      else
        store(sums[r][i], c);
    }
}

template <int Vectors, typename A, typename Ahead>
HWY_NOINLINE void multiplyVectors(const Panel &panel, const A &rows,
                                  Ahead &ahead) {
  for (int64_t row = 0; row < panel.rows; row += blockRows)
    switch (std::min(blockRows, panel.rows - row)) {
    case 1:
      multiplyBlock<1, Vectors>(panel, rows, row, ahead);
      break;
    case 2:
      multiplyBlock<2, Vectors>(panel, rows, row, ahead);
      break;
    case 3:
      multiplyBlock<3, Vectors>(panel, rows, row, ahead);
      break;
    default:
      multiplyBlock<4, Vectors>(panel, rows, row, ahead);
      break;
    }
}

/// Multiplies a panel of up to `MostVectors` vectors block by block.
template <int MostVectors, typename A, typename Ahead>
HWY_INLINE void multiplyPanel(const Panel &panel, const A &rows, Ahead &ahead) {
  if constexpr (MostVectors > 1)
    if (getVectors(panel.columns) < MostVectors)
      return multiplyPanel<MostVectors - 1>(panel, rows, ahead);
  multiplyVectors<MostVectors>(panel, rows, ahead);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
