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

enum class UnaryOp {
  Neg,
  Sqrt,
  Reciprocal,
  Silu,
  Gelu,
  FastGelu,
  Sigmoid,
  Exp,
  Log,
  Softplus,
  SqrtSoftplus,
  // The operations from here on take a scalar.
  AddScalar,
  MulScalar,
  ClampMin,
  ClampMax,
  GreaterThan,
  GreaterEqual,
  LessThan,
  NotEqual,
  Remainder,
  FloorDivide
};

inline bool takesScalar(UnaryOp op) { return op >= UnaryOp::AddScalar; }

/// The backward operations take the gradient of the output first, then the
/// input. The backward of the sigmoid takes its output.
enum class BinaryOp {
  Add,
  Maximum,
  Sub,
  Mul,
  Div,
  GreaterEqual,
  SiluBackward,
  GeluBackward,
  FastGeluBackward,
  SigmoidBackward,
  SqrtSoftplusBackward
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
