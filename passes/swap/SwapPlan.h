//===- SwapPlan.h - Chooses activations to swap -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The decision of mf-insert-swap as a plain value. This file does not depend on
// MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SWAP_SWAPPLAN_H
#define MF_PASSES_SWAP_SWAPPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf::passes {

/// A value computed by forward that is marked for swap.
struct SwapCandidate {
  /// The name of the operator that computes it.
  std::string name;
  int64_t bytes = 0;
  /// The number of kernels between the start of the copy back and its first
  /// reader.
  int64_t distance = 1;
  bool isReadByBackward = false;
  /// True if the value is computed from parameters alone.
  bool isMadeOfParameters = false;
  /// True if an operator that backward runs again reads it.
  bool isReadByRecompute = false;
};

enum class SwapDecision {
  /// The value is copied out in forward and copied back in backward.
  Swap,
  /// Backward does not read the value, so it is released after forward anyway.
  NotRead,
  /// The value depends on parameters alone, which stay on the device through
  /// the whole step.
  Parameters,
  /// MindSpore Transformers' second coupling rule: an operator whose output is
  /// read by a recomputed operator is not swapped.
  ReadByRecompute
};

/// Returns the reason for a decision, as remarks state it.
llvm::StringRef getReason(SwapDecision decision);

struct SwapPlan {
  /// The decision for each candidate.
  std::vector<SwapDecision> decisions;
  int64_t swappedBytes = 0;
  /// The bytes that backward reads and that stay on the device.
  int64_t keptBytes = 0;

  void print(llvm::ArrayRef<SwapCandidate> candidates,
             llvm::raw_ostream &os) const;
};

SwapPlan planSwap(llvm::ArrayRef<SwapCandidate> candidates);

} // namespace mf::passes

#endif // MF_PASSES_SWAP_SWAPPLAN_H
