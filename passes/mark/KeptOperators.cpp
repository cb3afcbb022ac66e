//===- KeptOperators.cpp - The dynamic graph's settings of layers ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/KeptOperators.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mf;
using namespace mf::ir;

/// Returns the dynamic graph's name, in lower case, of the operator that
/// launches a kernel. It usually is that of the kernel.
static std::string getDynamicName(llvm::StringRef kernel) {
  kernel.consume_front("aclnn");
  return llvm::StringSwitch<llvm::StringRef>(kernel)
      .Case("Matmul", "MatMulExt")
      .Case("Add", "AddExt")
      .Case("Adds", "AddScalar")
      .Case("Muls", "MulScalar")
      .Case("Embedding", "Gather")
      .Case("Cat", "Concat")
      .Cases({"Permute", "LayerNorm", "Reshape"}, "")
      .Default(kernel)
      .lower();
}

bool passes::isKeptOperator(ComputeOpInterface op,
                            llvm::ArrayRef<std::string> parts) {
  if (parts.empty() || op.isView())
    return false;
  const std::string name = getDynamicName(op.getKernelName());
  return !name.empty() && llvm::any_of(parts, [&](const std::string &part) {
    return llvm::StringRef(name).contains(part);
  });
}

static int64_t countBackwardKernels(LayerOp layer,
                                    const LayerEffects &effects) {
  int64_t kernels = 0;
  for (auto op : layer.getBody().getOps<ComputeOpInterface>())
    kernels += !op.isView();
  return kernels * (effects.fullRecompute ? 3 : 2);
}

void passes::countSwapKernels(llvm::ArrayRef<LayerOp> layers,
                              std::vector<LayerEffects> &effects) {
  for (size_t number = 0; number < effects.size(); ++number)
    for (SwapTarget &target : effects[number].swap) {
      if (!target.countsLayers)
        continue;
      int64_t kernels = 0;
      for (int64_t ahead = 1; ahead <= target.prefetch; ++ahead)
        if (const size_t other = number + static_cast<size_t>(ahead);
            other < effects.size())
          kernels += countBackwardKernels(layers[other], effects[other]);
      target.prefetch = std::max<int64_t>(kernels, 1);
      target.countsLayers = false;
    }
}
