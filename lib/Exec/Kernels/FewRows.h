//===- FewRows.h - Products of few rows ------------------------*- C++ -*-===//
//
// With few rows a matrix product is the reading of its second operand. oneDNN
// first packs that and then multiplies; here the next part of it is fetched
// while the part before is multiplied. Single-threaded, in f32.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_FEWROWS_H
#define MF_LIB_KERNELS_FEWROWS_H

#include <cstdint>

namespace mf {

/// c[rows, columns] = a[rows, depth] b[depth, columns]; strides are elements
/// from a row to the next.
struct FewRows {
  const float *a, *b;
  float *c;
  int64_t aStride, bStride, cStride;
  int64_t rows, columns, depth;
  /// The b of the product that this thread is likely to compute next, of the
  /// same shape, to be fetched at the end; or null.
  const float *next;
};

/// Whether this processor is faster this way for up to `mostFewRows` rows: it
/// takes the registers of AVX-512.
bool multipliesFewRows();

constexpr int64_t mostFewRows = 128;

/// Each element is one chain of fused multiply-adds along the depth, so that
/// its bits depend on its row of a and its column of b alone.
void multiplyFewRows(const FewRows &product);

} // namespace mf

#endif // MF_LIB_KERNELS_FEWROWS_H
