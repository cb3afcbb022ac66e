//===- ProfiledKernels.h - Kernels by their names in profiles ---*- C++ -*-===//
//
// A profiler shows kernels by the device's own names, with the shapes and
// element types of their operands but without attributes. Records of kernels
// give these names and the order of operands there.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_PROFILEDKERNELS_H
#define MF_SIGNATURES_PROFILEDKERNELS_H

#include "mf/Program/Signatures/KernelSignature.h"
#include <optional>

namespace mf {

/// The kernel that a profiler's column Type names: one of our own names, or one
/// that a record lists as `profiled`. Null if there is none.
const KernelSignature *findProfiledKernel(llvm::StringRef type);

/// The launch that a profiler shows with these operands, absent ones left out:
/// its FLOPs, bytes and measures are those of the launch, as far as shapes say.
/// Attention is taken for causal. None if the operands are not the kernel's.
std::optional<KernelSpec> getProfiledSpec(const KernelSignature &signature,
                                          llvm::ArrayRef<TensorShape> inputs,
                                          llvm::ArrayRef<TensorShape> outputs);

} // namespace mf

#endif // MF_SIGNATURES_PROFILEDKERNELS_H
