//===- KernelSpec.h - Complete specification of a launch --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_SIGNATURES_KERNELSPEC_H
#define MF_PROGRAM_SIGNATURES_KERNELSPEC_H

#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mf {

struct FusedKernel;

using AttributeValue =
    std::variant<bool, int64_t, double, std::vector<int64_t>,
                 std::vector<FusedKernel>, std::vector<double>>;

/// Attributes, keyed and ordered by name.
using AttributeMap = std::map<std::string, AttributeValue>;

/// One of the kernels of a chain (KernelChain.h).
struct FusedKernel {
  /// The name of the kernel's signature.
  std::string name;
  /// The values that the kernel reads: i denotes input i of the chain, ~i the
  /// result of kernel i of the chain.
  std::vector<int64_t> operands;
  TensorShape result;
  AttributeMap attributes;
};

/// All properties that determine a kernel's computation.
struct KernelSpec {
  /// The name of the kernel's signature, for example "aclnnMatmul".
  std::string name;
  llvm::SmallVector<TensorShape, 4> inputs;
  llvm::SmallVector<TensorShape, 4> outputs;
  AttributeMap attributes;
};

/// Returns the element type of the largest input, or of the largest output for
/// a kernel without inputs. The first one counts if several are largest. The
/// type in which products are summed does not matter. F32 if there are no
/// operands.
DType getWorkType(const KernelSpec &spec);

/// The indices of the optional inputs that an attention kernel has. There are
/// up to three after the required ones, in this order: ALiBi slopes (floating
/// point), a dropout mask (i1) and the first key that each query sees (i32).
/// Each may be absent, so an input is identified by its element type.
struct AttentionInputs {
  std::optional<size_t> slopes, dropMask, starts;
  /// The index of the first input that is none of the three.
  size_t end = 0;
};

/// Finds the optional inputs of `spec` from input `first` on.
AttentionInputs findAttentionInputs(const KernelSpec &spec, size_t first);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELSPEC_H
