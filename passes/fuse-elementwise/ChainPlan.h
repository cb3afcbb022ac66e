//===- ChainPlan.h - Chooses kernels to run as one --------------*- C++ -*-===//
//
// The decision as a plain value. Knows no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_FUSEELEMENTWISE_CHAINPLAN_H
#define MF_PASSES_FUSEELEMENTWISE_CHAINPLAN_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::passes {

/// Memory that launches use.
struct ChainBuffer {
  int64_t bytes = 0;
  /// One launch writes it and nothing but inputs of launches reads it, whole:
  /// it need not be, if they run as one.
  bool isTemporary = false;
  /// It is free for others behind its last use in the routine, and before its
  /// first if that is a write.
  bool isFreed = false;
  /// It is live behind the routine; if it is freed, then only before its first
  /// use.
  bool isKept = false;
};

/// A value that a launch names: a buffer, or a view of it.
struct ChainValue {
  int64_t buffer = 0;
};

/// One launch, in program order.
struct ChainLaunch {
  /// The step that it would be in a chain, if its kernel may be one.
  std::optional<KernelSpec> step;
  /// Numbers of values; a workspace is an output.
  llvm::SmallVector<int64_t, 3> inputs, outputs;
  /// Launches between which something else happens, an event above all, have
  /// different numbers.
  int64_t segment = 0;
};

/// The launches of a routine and their buffers.
struct ChainGraph {
  std::vector<ChainBuffer> buffers;
  std::vector<ChainValue> values;
  std::vector<ChainLaunch> launches;
};

/// Launches that become one.
struct PlannedChain {
  /// In program order, the one whose result it makes last.
  llvm::SmallVector<int64_t, 8> launches;
  /// Where it stands: in place of this one of them.
  int64_t position = 0;
  /// A specification of kernel mfChain; and the values that it reads.
  KernelSpec spec;
  llvm::SmallVector<int64_t, 4> inputs;
  /// Bytes of buffers that this chain made unnecessary.
  int64_t bytesGone = 0;
  /// Bytes that no longer have to be read and written.
  int64_t bytesUnmoved = 0;

  /// "aclnnSilu, aclnnMul".
  std::string getKind() const;
};

/// All chains of one kind.
struct ChainKind {
  std::string kernels;
  int64_t chains = 0, launches = 0, bytesGone = 0, bytesUnmoved = 0;
};

struct ChainPlan {
  std::vector<PlannedChain> chains;

  /// The kinds of chains in the order of their first chains.
  std::vector<ChainKind> getKinds() const;
};

/// Adds what chains of other routines are to these kinds.
void addKinds(std::vector<ChainKind> &kinds, llvm::ArrayRef<ChainKind> more);

void printKinds(llvm::ArrayRef<ChainKind> kinds, llvm::raw_ostream &os);

/// Joins a launch with all before it whose results nobody reads but launches
/// that it is joined with, as far as they stay on one side of what is no
/// launch, can be steps of one chain (KernelChain.h), pass no launch that uses
/// the same memory, and no moment of the routine has more bytes alive than
/// before; at a chain, than at one of its launches. Each launch is in one chain
/// at most.
ChainPlan planChains(ChainGraph graph);

} // namespace mf::passes

#endif // MF_PASSES_FUSEELEMENTWISE_CHAINPLAN_H
