//===- Factories.h - One factory for each family of kernels ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that dialects/ascend/AscendKernels.td names. `makeKernel` has
// checked the specification against the kernel's signature, and that its
// tensors have elements, before it calls one. A factory ends with the checker's
// error if it has one.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_FACTORIES_H
#define MF_LIB_EXEC_KERNELS_FACTORIES_H

#include "SpecChecker.h"

namespace mf {

using KernelOrError = llvm::Expected<std::unique_ptr<Kernel>>;

#define GET_FACTORY_DECLARATIONS
#include "lib/Exec/Kernels/KernelFactories.inc"

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_FACTORIES_H
