//===- ProfiledKernels.h - Kernels by their names in profiles ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A profiler lists kernels by the device's own names, with the shapes and
// element types of their operands but without attributes. The records of
// kernels define these names and the order of the operands there.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_PROFILEDKERNELS_H
#define MF_PROGRAM_SIGNATURES_PROFILEDKERNELS_H

#include "mf/Program/Signatures/KernelSignature.h"
#include <optional>

namespace mf {

/// Returns the kernel that the column Type of a profile names. It is either one
/// of our own kernel names or a name that a record lists as `profiled`. Null if
/// there is none.
const KernelSignature *findProfiledKernel(llvm::StringRef type);

/// Returns a launch with the operands that a profiler lists, absent ones left
/// out. Its FLOPs, bytes and measures are those of the real launch, as far as
/// shapes determine them. Attention is assumed to be causal. None if the
/// operands do not fit the kernel.
std::optional<KernelSpec> getProfiledSpec(const KernelSignature &signature,
                                          llvm::ArrayRef<TensorShape> inputs,
                                          llvm::ArrayRef<TensorShape> outputs);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_PROFILEDKERNELS_H
