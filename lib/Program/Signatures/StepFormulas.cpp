//===- StepFormulas.cpp - Kernels as steps of a chain ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepFormulas.h"

namespace mf {

StepKind getResizedStep(const KernelSpec &spec) {
  const llvm::ArrayRef<int64_t> from = spec.inputs[0].dims;
  const llvm::ArrayRef<int64_t> to = spec.outputs[0].dims;
  const bool isInRows = !from.empty() && from.size() == to.size() &&
                        from.drop_back() == to.drop_back();
  // The padding around the rows must be zero.
  auto value = spec.attributes.find("value");
  const bool hasZeros =
      value == spec.attributes.end() || std::get<int64_t>(value->second) == 0;
  return isInRows && hasZeros ? StepKind::Rows : StepKind::None;
}

StepKind getConcatenatedStep(const KernelSpec &spec) {
  const auto rank = static_cast<int64_t>(spec.outputs[0].dims.size());
  const auto axis = std::get<int64_t>(spec.attributes.at("axis"));
  const bool isInRows = rank > 0 && (axis == -1 || axis == rank - 1);
  return isInRows ? StepKind::Rows : StepKind::None;
}

} // namespace mf
