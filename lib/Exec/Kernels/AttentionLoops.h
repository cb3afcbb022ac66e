//===- AttentionLoops.h - Rows of a block of attention scores -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A block of scores has `rows` rows of `columns` f32 numbers at distance
// `stride`. The results replace the block row by row, in the element type of
// the operands, from the same addresses on (a bf16 row fills half of its
// place).
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_ATTENTIONLOOPS_H
#define MF_LIB_EXEC_KERNELS_ATTENTIONLOOPS_H

#include "mf/Support/DType.h"
#include <cstdint>

namespace mf {

/// A block of scores, of which row r sees the columns below `visible` + r *
/// `visiblePerRow`, as far as they exist. The others count as minus infinity.
/// The softmax is computed of `scale` * score + `slope` * (`distance` + column
/// - row).
struct ScoreBlock {
  float *scores;
  int64_t rows, columns, stride;
  int64_t visible, visiblePerRow;
  float scale;
  float slope;
  int64_t distance;
};

/// Runs the online softmax for one block (Milakov and Gimelshein, 2018). Scores
/// become exp(scale * score - max), `max` and `sum` of each row are updated,
/// and the rows of `result` (each `width` long) are multiplied by the
/// correction for the old maximum.
void runAttentionSoftmax(DType type, const ScoreBlock &block, float *max,
                         float *sum, float *result, int64_t width);

/// Scores become the softmax p; `gradients`, a block like it that holds the
/// gradients of p, becomes scale * p * (gradient - delta).
void runAttentionSoftmaxGrad(DType type, const ScoreBlock &block,
                             float *gradients, const float *max,
                             const float *sum, const float *delta);

/// Computes delta[row] = sum(a * b) over rows of `columns` elements.
void runRowProducts(DType type, const void *a, const void *b, float *delta,
                    int64_t rows, int64_t columns);

/// Computes y = x / divisor[row] for rows of `columns` elements of x.
void runDivideRows(DType type, const float *x, const float *divisor, void *y,
                   int64_t rows, int64_t columns);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_ATTENTIONLOOPS_H
