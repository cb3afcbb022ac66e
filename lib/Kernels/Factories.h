//===- Factories.h - One factory for each family of kernels ---*- C++ -*-===//
//
// `Kernel.cpp` maps aclnn names to these.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_FACTORIES_H
#define MF_LIB_KERNELS_FACTORIES_H

#include "mf/Kernels/Kernel.h"

namespace mf {

using KernelOrError = llvm::Expected<std::unique_ptr<Kernel>>;

KernelOrError makeMatmul(const KernelSpec &spec);
KernelOrError makeUnary(const KernelSpec &spec);
KernelOrError makeBinary(const KernelSpec &spec);
KernelOrError makeActivationBackward(const KernelSpec &spec);
KernelOrError makeCast(const KernelSpec &spec);

} // namespace mf

#endif // MF_LIB_KERNELS_FACTORIES_H
