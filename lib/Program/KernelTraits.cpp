//===- KernelTraits.cpp - What kernels do with their operands -------------===//

#include "mf/Program/KernelTraits.h"

namespace mf::program {

bool readsOutputs(llvm::StringRef kernel) {
  // These only write, though their names say in place.
  if (kernel == "aclnnInplaceZero" || kernel == "aclnnInplaceFillScalar" ||
      kernel == "aclnnInplaceCopy")
    return false;
  return kernel.starts_with("aclnnInplace") ||
         kernel.starts_with("aclnnForeachMulScalar") ||
         kernel == "aclnnForeachNonFiniteCheck" ||
         kernel == "aclnnForeachNonFiniteCheckAndUnscale" ||
         kernel == "aclnnApplyAdamWV2";
}

} // namespace mf::program
