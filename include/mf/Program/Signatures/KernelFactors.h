//===- KernelFactors.h - Factors that scale gradients -----------*- C++ -*-===//

#ifndef MF_SIGNATURES_KERNELFACTORS_H
#define MF_SIGNATURES_KERNELFACTORS_H

#include "mf/Program/Signatures/KernelSignature.h"
#include <vector>

namespace mf {

/// The launches that devices have where this one multiplies a gradient by
/// `factors`, which no operator of CANN does: a product in place for each. An
/// update has them, not a norm that reads the same products before it. Empty
/// for kernels without factors.
std::vector<KernelSpec> getProductsOfFactors(const KernelSignature &signature,
                                             const KernelSpec &spec);

} // namespace mf

#endif // MF_SIGNATURES_KERNELFACTORS_H
