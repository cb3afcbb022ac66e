//===- FusedKernels.h - Kernels of a chain on rows --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that dialects/ascend/AscendKernels.td names as `fusedFactory`.
// They take specifications that the kernel's own factory accepts.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_FUSEDKERNELS_H
#define MF_LIB_EXEC_KERNELS_FUSEDKERNELS_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>

namespace mf {

/// Computes the given number of rows of the output, the last dimension, from
/// the same number of rows of the inputs, all dense. Inputs that the
/// specification broadcasts are repeated already. Output and inputs may share
/// memory as the kernel's signature allows.
using FusedFunction = std::function<void(llvm::ArrayRef<const void *> inputs,
                                         void *output, int64_t rows)>;

/// Returns the number of elements of a row, which is 1 for a scalar.
inline int64_t getRowSize(const TensorShape &shape) {
  return shape.dims.empty() ? 1 : shape.dims.back();
}

/// Returns the function of `spec`, or nothing if its kernel is never fused.
FusedFunction makeFused(const KernelSpec &spec);

#define GET_FUSED_FACTORY_DECLARATIONS
#include "lib/Exec/Kernels/KernelFactories.inc"

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_FUSEDKERNELS_H
