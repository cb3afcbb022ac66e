//===- ChainSteps.h - Steps of a chain on rows ------------------*- C++ -*-===//
//
// The functions that dialects/ascend/AscendKernels.td names as `stepFactory`.
// They make steps of specifications that the kernel's own factory accepts.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_CHAINSTEPS_H
#define MF_LIB_KERNELS_CHAINSTEPS_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include <functional>

namespace mf {

/// Makes so many rows of the output, the last dimension, of as many rows of the
/// inputs, each dense. Inputs that the specification repeats come repeated. The
/// memory of output and inputs may be shared as the kernel's signature says.
using StepFunction = std::function<void(llvm::ArrayRef<const void *> inputs,
                                        void *output, int64_t rows)>;

/// Elements of a row; 1 of a scalar.
inline int64_t getRowSize(const TensorShape &shape) {
  return shape.dims.empty() ? 1 : shape.dims.back();
}

/// The step that `spec` names, or nothing if its kernel is never one.
StepFunction makeStep(const KernelSpec &spec);

#define GET_STEP_FACTORY_DECLARATIONS
#include "lib/Exec/Kernels/KernelFactories.inc"

} // namespace mf

#endif // MF_LIB_KERNELS_CHAINSTEPS_H
