//===- PackedAttentionLoops.h - Softmax of packed blocks ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The loops between the products of attention on a matrix unit. They read f32
// scores and write operands of BlockProduct.h. In f32 the exponential is exact
// to 1 ulp; in bf16, where it is rounded anyway, to some.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_PACKEDATTENTIONLOOPS_H
#define MF_LIB_EXEC_KERNELS_PACKEDATTENTIONLOOPS_H

#include "AttentionLoops.h"
#include "BlockProduct.h"
#include "MemoryAhead.h"

namespace mf {

/// Query rows that are done together: their scores with `softmaxKeys` keys stay
/// in the first cache.
constexpr int64_t softmaxRows = 32;
constexpr int64_t softmaxKeys = 256;

/// The state that the online softmax carries from block to block of keys: for
/// each row the maximum, 16 sums that make its sum, and `width` sums of the
/// result.
struct SoftmaxRows {
  float *max;
  float *sums;
  float *result;
  int64_t width;
};

/// Runs the online softmax on one block of up to `softmaxRows` rows, a multiple
/// of 16. `probabilities` get exp(scale * score - max) as rows of cells at
/// distance `stride`, with zeros up to the next multiple of 32 columns. With
/// the first block of keys, the state is initialized and `result` is not read.
void runPackedSoftmax(DType cellType, const ScoreBlock &block,
                      const SoftmaxRows &state, bool isFirst,
                      MemoryAhead &ahead);

/// Computes the sum of each row from its 16 partial sums.
void addUpSums(const float *sums, float *sum, int64_t rows);

/// The transposed scores s of keys (rows, a multiple of 2) and queries
/// (columns, a multiple of 32), and the gradients dp of their softmax.
struct PackedGradBlock {
  float *scores, *gradients;
  int64_t stride;
  int64_t rows, columns;
  /// The number of rows that represent keys. Additional rows get zeros.
  int64_t keys;
  /// One value for each query.
  const float *max, *norm, *delta;
  float scale, slope;
  /// The distance from the position of the first column's query to that of the
  /// first row's key. With `causal`, keys after a query are not seen.
  int64_t distance;
  bool causal;
};

/// Scores become p = norm * exp(scale * s + slope * distance - max), and their
/// gradients ds = scale * p * (dp - delta), as rows of cells that begin where
/// the numbers did. `panels` get ds as pairs of keys: a panel for each 16
/// queries, at distance `panelStride` cells.
void runPackedSoftmaxGrad(DType cellType, const PackedGradBlock &block,
                          Cell *panels, int64_t panelStride, MemoryAhead &ahead,
                          ProductQueue &products);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_PACKEDATTENTIONLOOPS_H
