//===- KernelCost.cpp ---===//

#include "mf/Target/KernelCost.h"

namespace mf::target {

llvm::Expected<KernelCost> getKernelCost(const Target &target,
                                         const KernelSignature &signature,
                                         const KernelSpec &spec,
                                         const Compilation &compilation) {
  KernelCost cost;
  cost.seconds = 4e-6 + static_cast<double>(signature.getFlops(spec)) / 250e12 +
                 static_cast<double>(signature.getBytes(spec)) / 1e12;
  return cost;
}

} // namespace mf::target
