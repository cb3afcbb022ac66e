//===- FewRows.h - Products of few rows ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// With few rows, the time of a matrix product is that of reading its second
// operand. oneDNN first packs it and then multiplies. Here the next part of it
// is fetched while the previous one is multiplied. Single-threaded, in f32.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_FEWROWS_H
#define MF_LIB_EXEC_KERNELS_FEWROWS_H

#include <cstdint>

namespace mf {

/// c[rows, columns] = a[rows, depth] b[depth, columns]. Strides are elements
/// between rows.
struct FewRows {
  const float *a, *b;
  float *c;
  int64_t aStride, bStride, cStride;
  int64_t rows, columns, depth;
  /// The b of the product that this thread will probably compute next, of the
  /// same shape, which is fetched at the end; or null.
  const float *next;
};

/// Returns whether this processor is faster this way for up to `mostFewRows`
/// rows. It needs the registers of AVX-512.
bool multipliesFewRows();

constexpr int64_t mostFewRows = 128;

/// Computes c. Each element is one chain of fused multiply-adds along the
/// depth, so its bits depend only on its row of a and its column of b.
void multiplyFewRows(const FewRows &product);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_FEWROWS_H
