//===- SelectionLoops.h - Search for the largest elements -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Single-threaded loops over a row. Floating-point numbers are compared by an
// integer, their order: NaN is the largest, 0 and -0 are equal.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_SELECTIONLOOPS_H
#define MF_LIB_EXEC_KERNELS_SELECTIONLOOPS_H

#include "mf/Program/Signatures/KernelBlocks.h"

namespace mf {

/// Computes the orders of `count` elements of i32 or a floating-point type.
void runOrderLoop(DType type, const void *x, uint32_t *orders, int64_t count);

/// Finds the `k` largest of `count` elements of a floating-point type, in
/// descending order and, if equal, with the lower index first. `k` is at most
/// `count`.
void runTopkLoop(DType type, const void *x, int64_t count, SortedElement *best,
                 int64_t k);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_SELECTIONLOOPS_H
