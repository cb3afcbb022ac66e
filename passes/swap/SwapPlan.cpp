//===- SwapPlan.cpp - Chooses activations to swap -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/swap/SwapPlan.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::passes {

static SwapDecision decide(const SwapCandidate &candidate) {
  if (candidate.isMadeOfParameters)
    return SwapDecision::Parameters;
  if (!candidate.isReadByBackward)
    return SwapDecision::NotRead;
  if (candidate.isReadByRecompute)
    return SwapDecision::ReadByRecompute;
  return SwapDecision::Swap;
}

llvm::StringRef getReason(SwapDecision decision) {
  switch (decision) {
  case SwapDecision::Swap:
    return "leaves the device between forward and backward";
  case SwapDecision::NotRead:
    return "not swapped: backward does not read it";
  case SwapDecision::Parameters:
    return "not swapped: it is made of parameters alone";
  case SwapDecision::ReadByRecompute:
    return "not swapped: an operator that is recomputed reads it";
  }
  return "";
}

SwapPlan planSwap(llvm::ArrayRef<SwapCandidate> candidates) {
  SwapPlan plan;
  for (const SwapCandidate &candidate : candidates) {
    SwapDecision decision = decide(candidate);
    plan.decisions.push_back(decision);
    if (decision == SwapDecision::Swap)
      plan.swappedBytes += candidate.bytes;
    else if (decision == SwapDecision::ReadByRecompute)
      plan.keptBytes += candidate.bytes;
  }
  return plan;
}

void SwapPlan::print(llvm::ArrayRef<SwapCandidate> candidates,
                     llvm::raw_ostream &os) const {
  os << "swap plan: " << llvm::count(decisions, SwapDecision::Swap) << " of "
     << candidates.size() << " values swapped, " << swappedBytes << " bytes; "
     << keptBytes << " bytes kept\n";
  for (auto [candidate, decision] : llvm::zip(candidates, decisions))
    os << "  " << candidate.name << ", " << candidate.bytes
       << " bytes, distance " << candidate.distance << ": "
       << getReason(decision) << "\n";
}

} // namespace mf::passes
