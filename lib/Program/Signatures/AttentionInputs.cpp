//===- AttentionInputs.cpp - Optional inputs of attention -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/AttentionInputs.h"

namespace mf {

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
