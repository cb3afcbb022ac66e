//===- Kernel.h - Kernels of aclnn on the host ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is one aclnn operator with fixed types, shapes and attributes.
// Making it checks the specification and builds everything that can be built
// once (oneDNN primitives, tile grids). Running it only computes.
//
// Floating-point elements are f32, bf16 or f16. Arithmetic and accumulation are
// in f32, results are rounded to nearest even, and a NaN stays a NaN.
// Results are bitwise the same for any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_KERNELS_KERNEL_H
#define MF_EXEC_KERNELS_KERNEL_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mf {

/// The memory that a kernel works on: dense row-major tensors in the order of
/// the specification, aligned to their element size (64 bytes is fastest), and
/// a workspace of the signature's getWorkspaceBytes() bytes, aligned to 4
/// bytes. The workspace holds no values before and after the run.
struct KernelOperands {
  llvm::ArrayRef<void *> inputs, outputs;
  void *workspace = nullptr;

  template <typename T> const T *getInput(size_t index) const {
    return static_cast<const T *>(inputs[index]);
  }
  template <typename T> T *getOutput(size_t index) const {
    return static_cast<T *>(outputs[index]);
  }
};

/// A kernel that is ready to run. Several threads may call `run` concurrently
/// on different memory.
class Kernel {
public:
  virtual ~Kernel();

  /// Computes the outputs. The kernel's signature defines which outputs are
  /// also read, and which may share the memory of an input of the same size.
  /// Other operands may not overlap.
  virtual void run(const KernelOperands &operands, ThreadPool &pool) const = 0;
};

/// Makes the kernel that `spec` specifies. Fails if `checkAgainstSignature`
/// rejects it, or if a type or a shape is not supported.
llvm::Expected<std::unique_ptr<Kernel>> makeKernel(const KernelSpec &spec);

} // namespace mf

#endif // MF_EXEC_KERNELS_KERNEL_H
