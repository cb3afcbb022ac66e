//===- KernelFactors.h - Factors that scale gradients -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_SIGNATURES_KERNELFACTORS_H
#define MF_PROGRAM_SIGNATURES_KERNELFACTORS_H

#include "mf/Program/Signatures/KernelSignature.h"
#include <vector>

namespace mf {

/// Returns the launches that devices need where this kernel multiplies a
/// gradient by its `factors` operands, which no operator of CANN does: one
/// product in place for each factor. Only an update has such launches. A norm
/// reads the products that the update's launches have stored. Empty for kernels
/// without factors.
std::vector<KernelSpec> getProductsOfFactors(const KernelSignature &signature,
                                             const KernelSpec &spec);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_KERNELFACTORS_H
