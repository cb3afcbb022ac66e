//===- Kernel.h - What an aclnn launch does, on the host ------*- C++ -*-===//
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

#include "mf/Kernels/ThreadPool.h"
#include "mf/Tensor/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace mf {

using AttributeValue =
    std::variant<bool, int64_t, double, std::vector<int64_t>>;

/// Attributes by name, in the order of their names.
using AttributeMap = std::map<std::string, AttributeValue>;

/// All that decides what a kernel computes.
struct KernelSpec {
  /// The aclnn name, such as "aclnnMatmul".
  std::string name;
  llvm::SmallVector<TensorShape, 4> inputs;
  llvm::SmallVector<TensorShape, 4> outputs;
  AttributeMap attributes;
};

/// A kernel ready to run. `run` may be called from several threads at once, on
/// different memory.
class Kernel {
public:
  virtual ~Kernel();

  /// Computes the outputs. `inputs` and `outputs` are the addresses of dense
  /// row-major tensors in the order of the specification, aligned to their
  /// element size (64 bytes is fastest). An output must not overlap an input,
  /// with one exception: the elementwise kernels (Add, Sub, Mul, Muls, Adds,
  /// Neg, Sqrt, Reciprocal, Clamp*, Silu*, Gelu*) may be given the very same
  /// address for their output and an input of its shape. Outputs of in-place
  /// kernels (aclnnInplaceAdd, aclnnForeachMulScalarV2, aclnnApplyAdamWV2,
  /// aclnnForeachNonFiniteCheck) are read as well.
  virtual void run(llvm::ArrayRef<void *> inputs,
                   llvm::ArrayRef<void *> outputs, ThreadPool &pool) const = 0;
};

/// Makes the kernel that `spec` names, or says what is wrong with it: an
/// unknown name, a wrong number of tensors, a type or a shape that does not
/// fit, an attribute that is missing, unknown or of another type.
llvm::Expected<std::unique_ptr<Kernel>> makeKernel(const KernelSpec &spec);

/// The names `makeKernel` knows, sorted.
llvm::ArrayRef<llvm::StringRef> getKernelNames();

} // namespace mf

#endif // MF_KERNELS_KERNEL_H
