//===- KernelSpec.h - Complete specification of a launch --------*- C++ -*-===//

#ifndef MF_SIGNATURES_KERNELSPEC_H
#define MF_SIGNATURES_KERNELSPEC_H

#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace mf {

struct KernelStep;

using AttributeValue = std::variant<bool, int64_t, double, std::vector<int64_t>,
                                    std::vector<KernelStep>>;

/// Attributes by name, in the order of their names.
using AttributeMap = std::map<std::string, AttributeValue>;

/// One kernel of several that run as one (KernelChain.h).
struct KernelStep {
  /// The name of its signature.
  std::string kernel;
  /// The values that the step reads: i is input i of the chain, ~i the result
  /// of step i.
  std::vector<int64_t> operands;
  TensorShape result;
  AttributeMap attributes;
};

/// All properties that decide a kernel's computation.
struct KernelSpec {
  /// The name of its signature, such as "aclnnMatmul".
  std::string name;
  llvm::SmallVector<TensorShape, 4> inputs;
  llvm::SmallVector<TensorShape, 4> outputs;
  AttributeMap attributes;
};

} // namespace mf

#endif // MF_SIGNATURES_KERNELSPEC_H
