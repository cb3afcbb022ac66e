//===- SwapPlan.h - Chooses activations to swap -----------------*- C++ -*-===//
//
// The decision of mf-insert-swap as a plain value. Knows no MLIR.
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

/// A value that forward makes and that a user wants swapped.
struct SwapCandidate {
  /// The name of the operator that makes it.
  std::string name;
  int64_t bytes = 0;
  /// Kernels between the start of the copy back and its first reader.
  int64_t distance = 1;
  bool isReadByBackward = false;
  /// The value is made of parameters alone.
  bool isMadeOfParameters = false;
  /// An operator that backward runs again reads it.
  bool isReadByRecompute = false;
};

enum class SwapDecision {
  /// Copied out in forward and back in backward.
  Swap,
  /// Backward does not read it: it is gone after forward anyway.
  NotRead,
  /// Parameters stay on the device through the whole step.
  Parameters,
  /// MindSpore Transformers' second coupling rule: an operator whose output a
  /// recomputed operator reads is not swapped.
  ReadByRecompute
};

/// The reason for a decision, as remarks give it.
llvm::StringRef getReason(SwapDecision decision);

struct SwapPlan {
  /// The decision for each candidate.
  std::vector<SwapDecision> decisions;
  int64_t swappedBytes = 0;
  /// Bytes that backward reads and that stay on the device.
  int64_t keptBytes = 0;

  void print(llvm::ArrayRef<SwapCandidate> candidates,
             llvm::raw_ostream &os) const;
};

SwapPlan planSwap(llvm::ArrayRef<SwapCandidate> candidates);

} // namespace mf::passes

#endif // MF_PASSES_SWAP_SWAPPLAN_H
