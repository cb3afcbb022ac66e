//===- ElementwiseLoops.h - Vectorised elementwise loops ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Single-threaded loops over a contiguous run of elements, compiled for
// several instruction sets and dispatched when called.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_ELEMENTWISELOOPS_H
#define MF_LIB_EXEC_KERNELS_ELEMENTWISELOOPS_H

#include "mf/Support/DType.h"
#include <cstdint>

namespace mf {

/// The operators of one vector. The last ones take a scalar, too.
enum class UnaryOp {
#define MF_UNARY(Op, kernel, result) Op,
#define MF_SCALAR(Op, kernel, result) Op,
#include "ElementwiseOps.def"
};

inline bool takesScalar(UnaryOp op) { return op >= UnaryOp::AddScalar; }

enum class BinaryOp {
#define MF_BINARY(Op, kernel, result) Op,
#define MF_BACKWARD(Op, kernel, result) Op,
#include "ElementwiseOps.def"
};

/// The operands of a binary loop that advance; the other is one element.
enum class Advance { Both, OnlyFirst, OnlySecond };

/// Computes y[i] = op(x[i]) for `count` elements of a floating-point type.
/// `scalar` is the second operand of the scalar operations.
void runUnaryLoop(UnaryOp op, DType type, const void *x, void *y, int64_t count,
                  float scalar);

/// Computes z[i] = op(x[i], y[i]) for `count` elements of a floating-point
/// type.
void runBinaryLoop(BinaryOp op, Advance advance, DType type, const void *x,
                   const void *y, void *z, int64_t count);

/// Computes y[i] = x[i] in another element type. Floating-point to integer
/// truncates and saturates, NaN becomes 0. i64 to i32 keeps the low half.
void runCastLoop(DType from, DType to, const void *x, void *y, int64_t count);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_ELEMENTWISELOOPS_H
