//===- KernelSpec.h - Complete specification of a launch --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_SIGNATURES_KERNELSPEC_H
#define MF_PROGRAM_SIGNATURES_KERNELSPEC_H

#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace mf {

struct FusedKernel;

using AttributeValue = std::variant<bool, int64_t, double, std::vector<int64_t>,
                                    std::vector<FusedKernel>>;

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

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELSPEC_H
