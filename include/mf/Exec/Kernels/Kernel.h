//===- Kernel.h - Kernels of aclnn on the host ------------------*- C++ -*-===//
//
// One kernel is one aclnn operator with its types, shapes and attributes fixed.
// Making it checks the specification and builds whatever can be built once
// (oneDNN primitives, tile grids); running it only computes.
//
// Floating-point elements are f32, bf16 or f16. Arithmetic and accumulation are
// in f32, results are rounded to nearest even, and a NaN stays a NaN.
// Results are bitwise the same for any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef MF_KERNELS_KERNEL_H
#define MF_KERNELS_KERNEL_H

#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mf {

/// The memory that a kernel works on: dense row-major tensors in the order of
/// the specification, aligned to their element size (64 bytes is fastest), and
/// the signature's getWorkspaceBytes() bytes of workspace, aligned to 4 bytes,
/// whose contents mean nothing before and after.
struct KernelOperands {
  llvm::ArrayRef<void *> inputs, outputs;
  void *workspace = nullptr;
};

/// A kernel ready to run. `run` may be called from several threads at once, on
/// different memory.
class Kernel {
public:
  virtual ~Kernel();

  /// Computes the outputs. The kernel's signature says which outputs are read
  /// as well, and which may be the very memory of an input of as many bytes;
  /// nothing else may overlap.
  virtual void run(const KernelOperands &operands, ThreadPool &pool) const = 0;
};

/// Makes the kernel that `spec` names. It is an error if
/// `checkAgainstSignature` refuses it, or if a type or a shape does not fit.
llvm::Expected<std::unique_ptr<Kernel>> makeKernel(const KernelSpec &spec);

} // namespace mf

#endif // MF_KERNELS_KERNEL_H
