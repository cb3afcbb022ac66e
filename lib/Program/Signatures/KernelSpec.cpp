//===- KernelSpec.cpp - What operands of a launch say ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

DType getWorkType(const KernelSpec &spec) {
  const llvm::ArrayRef<TensorShape> operands =
      spec.inputs.empty() ? spec.outputs : spec.inputs;
  if (operands.empty())
    return DType::F32;
  return llvm::max_element(operands,
                           [](const TensorShape &a, const TensorShape &b) {
                             return a.getBytes() < b.getBytes();
                           })
      ->type;
}

AttentionInputs findAttentionInputs(const KernelSpec &spec, size_t first) {
  AttentionInputs found;
  found.end = first;
  auto takeIf = [&](auto isOfType) -> std::optional<size_t> {
    if (found.end >= spec.inputs.size() ||
        !isOfType(spec.inputs[found.end].type))
      return std::nullopt;
    return found.end++;
  };
  found.slopes = takeIf(
      [](DType type) { return type != DType::I1 && type != DType::I32; });
  found.dropMask = takeIf([](DType type) { return type == DType::I1; });
  found.starts = takeIf([](DType type) { return type == DType::I32; });
  return found;
}

} // namespace mf
