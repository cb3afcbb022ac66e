//===- ChainPlan.h - Chooses kernels to fuse --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The decision as a plain value. This file does not depend on MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_FUSE_ELEMENTWISE_CHAINPLAN_H
#define MF_PASSES_FUSE_ELEMENTWISE_CHAINPLAN_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>

namespace mf::passes {

/// A buffer that launches use.
struct ChainBuffer {
  int64_t bytes = 0;
  /// True if one launch writes the whole buffer and only inputs of launches
  /// read it. It is not needed if all of them are fused.
  bool isTemporary = false;
  /// True if its memory can be reused after its last use in the routine, and
  /// before its first use if that is a write.
  bool isFreed = false;
  /// True if it is live after the routine. If isFreed is true too, its memory
  /// can only be reused before its first use.
  bool isKept = false;
};

/// A launch. Launches are in program order.
struct ChainLaunch {
  /// The kernel that it would be in a chain. Empty if it may not be fused.
  std::optional<KernelSpec> kernel;
  /// Indices of values. A workspace is an output.
  llvm::SmallVector<int64_t, 3> inputs, outputs;
  /// Separates launches: those between which anything else happens, such as an
  /// event, have different numbers.
  int64_t segment = 0;
};

/// The launches of a routine and their buffers.
struct ChainGraph {
  std::vector<ChainBuffer> buffers;
  /// The buffer of each value that a launch uses, which is the buffer or a view
  /// of it.
  std::vector<int64_t> values;
  /// A deque, because launches are large and routines have thousands.
  std::deque<ChainLaunch> launches;
};

/// Launches that are fused into one.
struct PlannedChain {
  /// The launches in program order. The last one computes the result.
  llvm::SmallVector<int64_t, 8> launches;
  /// The launch that the chain replaces.
  int64_t position = 0;
  /// The specification of kernel mfChain, and the values that it reads.
  KernelSpec spec;
  llvm::SmallVector<int64_t, 4> inputs;
  /// The bytes of buffers that the chain makes unnecessary.
  int64_t bytesGone = 0;
  /// The bytes that are no longer read and written.
  int64_t bytesUnmoved = 0;

  /// Returns the names of the kernels: "aclnnSilu, aclnnMul".
  std::string getKind() const;
};

/// All chains with the same kernels.
struct ChainKind {
  std::string kernels;
  int64_t chains = 0, launches = 0, bytesGone = 0, bytesUnmoved = 0;
};

struct ChainPlan {
  std::vector<PlannedChain> chains;

  /// Returns the kinds of chains in the order of their first chains.
  std::vector<ChainKind> getKinds() const;
};

/// Adds the kinds of chains of another routine.
void addKinds(std::vector<ChainKind> &kinds, llvm::ArrayRef<ChainKind> more);

void printKinds(llvm::ArrayRef<ChainKind> kinds, llvm::raw_ostream &os);

/// Fuses a launch with all earlier launches whose results are read only by
/// launches that it is fused with, as long as no other instruction is between
/// them, they can be one chain (KernelChain.h), they are not moved
/// past a launch that uses the same memory, and the live bytes do not increase:
/// not at any moment of the routine, and at the chain not above the maximum
/// over its launches. Each launch is in at most one chain.
ChainPlan planChains(ChainGraph graph);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_ELEMENTWISE_CHAINPLAN_H
