//===- RowLoops.h - Vectorised loops over rows ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Single-threaded loops over consecutive rows of `columns` elements. Void
// pointers have the floating-point type `type`. The computation is in f32.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_ROWLOOPS_H
#define MF_LIB_EXEC_KERNELS_ROWLOOPS_H

#include "mf/Support/DType.h"
#include <cstdint>

namespace mf {

/// Computes y = x * rstd * gamma with rstd = 1 / sqrt(mean(x^2) + epsilon).
void runRmsNormRows(DType type, const void *x, const float *gamma, void *y,
                    float *rstd, int64_t rows, int64_t columns, float epsilon);

/// Computes the gradient of x, and adds that of gamma to `gammaGradient`.
void runRmsNormGradRows(DType type, const void *dy, const void *x,
                        const float *rstd, const float *gamma, void *dx,
                        float *gammaGradient, int64_t rows, int64_t columns);

/// Computes y = (x - mean) * rstd * weight + bias with rstd = 1 / sqrt(variance
/// + epsilon).
void runLayerNormRows(DType type, const void *x, const float *weight,
                      const float *bias, void *y, float *mean, float *rstd,
                      int64_t rows, int64_t columns, float epsilon);

/// Computes the gradient of x. Adds the gradients of weight and bias to
/// `weightGradient` and `biasGradient`, unless both are null.
void runLayerNormBackwardRows(DType type, const void *dy, const void *x,
                              const float *mean, const float *rstd,
                              const float *weight, void *dx,
                              float *weightGradient, float *biasGradient,
                              int64_t rows, int64_t columns);

void runSoftmaxRows(DType type, const void *x, void *y, int64_t rows,
                    int64_t columns);

/// Computes dx = (dy - sum(dy * y)) * y.
void runSoftmaxBackwardRows(DType type, const void *dy, const void *y, void *dx,
                            int64_t rows, int64_t columns);

/// Computes log(sum(exp(x))) of each row.
void runLogSumExpRows(DType type, const void *x, float *logSumExp, int64_t rows,
                      int64_t columns);

/// Computes the largest element of each row.
void runRowMax(DType type, const void *x, float *max, int64_t rows,
               int64_t columns);

/// Computes y = exp(x - shift) in fp32.
void runExponentials(DType type, const void *x, float shift, float *y,
                     int64_t columns);

/// Computes dx = factor * (exp(x - logSumExp) - [column == label]) for one row.
/// A label of -1 matches no column.
void runCrossEntropyGradRow(DType type, const void *x, int64_t label,
                            float logSumExp, float factor, void *dx,
                            int64_t columns);

/// Computes y = silu(first half) * second half of rows of x with 2 * columns
/// elements.
void runSwiGluRows(DType type, const void *x, void *y, int64_t rows,
                   int64_t columns);
void runSwiGluGradRows(DType type, const void *dy, const void *x, void *dx,
                       int64_t rows, int64_t columns);

/// How a row is rotated.
struct RotaryRow {
  int64_t columns = 0;
  /// The rotated elements of a row. The others are copied.
  int64_t start = 0, rotated = 0;
  /// The elements from one row of the tables to the next.
  int64_t tableStep = 0;
  /// True if neighbours are pairs, false if the elements of two halves are.
  bool interleaved = false;
  /// True to rotate in the opposite direction.
  bool backward = false;
};

/// Computes y = x * cos + rotate(x) * sin with rotate([a, b]) = [-b, a] on the
/// pairs of each row.
void runRotaryRows(DType type, DType tableType, const void *x, const void *cos,
                   const void *sin, void *y, int64_t rows,
                   const RotaryRow &row);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_ROWLOOPS_H
