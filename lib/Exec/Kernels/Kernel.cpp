//===- Kernel.cpp - The kernels by their names ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Kernels/Kernel.h"
#include "Factories.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "mf/Program/Signatures/KernelSignature.h"

namespace mf {

Kernel::~Kernel() = default;

/// The factories are in the order of getKernelSignatures().
static constexpr KernelOrError (*factories[])(const KernelSpec &,
                                              SpecChecker &) = {
#define GET_FACTORIES
#include "lib/Exec/Kernels/KernelFactories.inc"
};

llvm::Expected<std::unique_ptr<Kernel>> makeKernel(const KernelSpec &spec) {
  if (llvm::Error error = checkAgainstSignature(spec))
    return error;
  if (llvm::Error error = prepareInstructionSet())
    return error;
  const KernelSignature *signature = findKernelSignature(spec.name);
  SpecChecker checker(spec);
  if (!checker.requireTensors())
    return checker.takeError();
  return factories[signature - getKernelSignatures().begin()](spec, checker);
}

} // namespace mf
