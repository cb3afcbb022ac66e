//===- Reduction.h - What kernels of reductions share -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_REDUCTION_H
#define MF_LIB_EXEC_KERNELS_REDUCTION_H

#include "SpecChecker.h"
#include "mf/Program/Signatures/KernelBlocks.h"

namespace mf {

/// Returns where an iteration stands, in elements.
int64_t getOffset(const StridedLoops &loops, int64_t iteration);

/// Checks the only input, the attributes `axes` and `keep_dims`, and the only
/// output of a reduction. Returns the dimensions that are reduced.
llvm::SmallVector<bool, 4> requireReduction(SpecChecker &checker,
                                            const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_REDUCTION_H
