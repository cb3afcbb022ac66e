//===- PoisonPlan.cpp - Memory to poison after instructions ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PoisonPlan.h"
#include "mf/Program/Liveness.h"

using namespace mf::program;

namespace mf::runner {

PoisonPlan::PoisonPlan(const StageProgram &stage) {
  for (const Lifetime &lifetime : computeLifetimes(stage))
    if (lifetime.kind != BufferKind::Static &&
        lifetime.space == Space::Device && lifetime.onlyCompute &&
        lifetime.begin < lifetime.end)
      ranges[{lifetime.lastPosition, lifetime.lastInstruction}].push_back(
          {lifetime.offset, lifetime.bytes});
}

llvm::ArrayRef<PoisonPlan::Range>
PoisonPlan::getRanges(uint32_t position, uint32_t instruction) const {
  auto found = ranges.find({position, instruction});
  if (found == ranges.end())
    return {};
  return found->second;
}

} // namespace mf::runner
