//===- KernelFactors.cpp - Factors that scale gradients -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelFactors.h"

namespace mf {

std::vector<KernelSpec> getProductsOfFactors(const KernelSignature &signature,
                                             const KernelSpec &spec) {
  std::vector<KernelSpec> products;
  if (signature.inputs.empty() || !signature.inputs.back().isFactors ||
      signature.outputs.front().access != Access::Updated)
    return products;
  for (size_t i = signature.inputs.size() - 1; i < spec.inputs.size(); ++i)
    products.push_back(
        {"aclnnForeachMulScalar", {spec.inputs[i]}, {spec.inputs[0]}, {}});
  return products;
}

} // namespace mf
