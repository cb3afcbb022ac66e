//===- ReduceLoops.h - Vectorised sums and searches -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Single-threaded loops over `count` consecutive elements of a floating-point
// type.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_REDUCELOOPS_H
#define MF_LIB_EXEC_KERNELS_REDUCELOOPS_H

#include "Tiles.h"
#include <cstdint>

namespace mf {

/// Computes sums[i] += x[i].
void runAccumulateLoop(DType type, const void *x, float *sums, int64_t count);

/// Adds `rows` rows of x that are `stride` elements apart, in order, as
/// runAccumulateLoop does.
void runAccumulateRowsLoop(DType type, const void *x, int64_t stride,
                           int64_t rows, float *sums, int64_t count);

/// Computes y[i] += factor * x[i]. The product is rounded before it is added,
/// on all processors.
inline void addScaled(float factor, const float *x, float *y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] += factor * x[i];
}

/// Computes y[i] = x[0] + ... + x[i] for i below `length`, `width` times side
/// by side. Successive elements are at distance `stride`. `y` may be `x`.
void runCumsumLoop(DType type, const void *x, void *y, int64_t length,
                   int64_t stride, int64_t width);

/// Returns the sum in f32. `count` should not exceed `elementsPerSum` by much.
float runSumLoop(DType type, const void *x, int64_t count);

/// The number of runs whose sums are added in one group.
constexpr int64_t runsPerSum = 64;

/// Returns the sum of a row in the order in which aclnnReduceSum computes it if
/// it does not split rows over its threads. `sum(first, size)` returns the sum
/// of a run.
template <typename Sum> float sumRow(int64_t columns, const Sum &sum) {
  const Tiles runs(columns, elementsPerSum);
  float total = 0;
  for (int64_t group = 0; group < runs.count; group += runsPerSum) {
    float recent = 0;
    for (int64_t i = group; i < std::min(runs.count, group + runsPerSum); ++i)
      recent += sum(runs[i].begin, runs[i].size);
    total += recent;
  }
  return total;
}

/// Returns the sum of squares in f32, of x multiplied by one factor after
/// another. Each product is rounded to `type`.
float runSumOfSquaresLoop(DType type, const void *x, int64_t count,
                          llvm::ArrayRef<float> factors);

/// Returns whether an element is infinite or NaN.
bool runNonFiniteLoop(DType type, const void *x, int64_t count);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_REDUCELOOPS_H
