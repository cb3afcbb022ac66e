//===- SwapMark.h - Operators whose results are to be swapped --*- C++ -*-===//
//
// The mark is a discardable attribute, `mf.swap = 2 : i64`: whoever drops it
// changes where an activation lives, never its value.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_SWAPMARK_H
#define MF_DIALECTS_MF_SWAPMARK_H

#include "mlir/IR/Operation.h"

namespace mf::ir {

/// The largest prefetch distance, in kernels: what backward_prefetch may be. No
/// step has as many.
inline constexpr int64_t maximumSwapDistance = 2147483647;

/// The prefetch distance of an operator whose results are to be swapped, or
/// none.
std::optional<int64_t> getSwapMark(mlir::Operation *op);

/// Sets or, with none, removes the mark.
void setSwapMark(mlir::Operation *op, std::optional<int64_t> distance);

/// Reports a distance that is out of range.
mlir::LogicalResult verifySwapDistance(mlir::Operation *op, int64_t distance);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_SWAPMARK_H
