//===- KernelTraits.cpp - What kernels do with their operands -------------===//

#include "mf/Program/KernelTraits.h"
#include "mf/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

bool readsOutputs(llvm::StringRef kernel) {
  const KernelSignature *signature = findKernelSignature(kernel);
  return signature &&
         llvm::any_of(signature->outputs, [](const OperandSignature &output) {
           return readsMemory(output.access);
         });
}

} // namespace mf::program
