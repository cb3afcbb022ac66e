//===- CollectiveShare.h - What a collective computes ----------*- C++ -*-===//
//
// Collectives apart from how bytes travel, for the runner's streams as for the
// interpreter's tensors. A reduction takes the parts in the
// order of the group, whoever comes first and whoever computes it, so
// all_reduce and reduce_scatter of the same parts give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RANKS_COLLECTIVESHARE_H
#define MF_RANKS_COLLECTIVESHARE_H

#include "mf/Program/Instruction.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstddef>

namespace mf::ranks {

/// The memory that a member brings to a collective. Input and output are the
/// same memory, which all_reduce and broadcast allow, or do not overlap.
struct Contribution {
  const std::byte *input = nullptr;
  std::byte *output = nullptr;
  int64_t inputBytes = 0;
  int64_t outputBytes = 0;
  /// The counts of an all_to_all_v, as many of each as the group has experts.
  const float *send = nullptr;
  const float *receive = nullptr;
};

/// Combines `parts`, each of `elements` elements, element by element in their
/// order. Floating-point values are summed in fp32 and rounded once; integers
/// wrap around; a maximum is as IEEE 754-2019 has `maximum`: a NaN if either is
/// one, and +0 is larger than -0. `output` may be one of the parts.
void reduceParts(llvm::ArrayRef<const std::byte *> parts, std::byte *output,
                 int64_t elements, DType type, Reduction reduction);

/// Bytes of a member's input or output.
struct ByteRange {
  int64_t begin = 0;
  int64_t bytes = 0;
};

/// Whether each member combines a share of all inputs (all_reduce,
/// reduce_scatter, all_to_all). The others pass inputs on as they are.
bool combinesShares(CollectiveKind kind);

/// If so: what member `place` of `numMembers` takes of every input.
ByteRange getShare(const program::Exchange &exchange, int64_t inputBytes,
                   size_t numMembers, size_t place);

/// Combines that share of all inputs, in the order of the group, each of
/// `bytes` bytes, at `output`: reduced, or one behind the other. A part that
/// lies where it belongs stays there.
void combineShare(const program::Exchange &exchange,
                  llvm::ArrayRef<const std::byte *> parts, int64_t bytes,
                  std::byte *output);

/// Computes the share of member `place` in a collective, given the memory of
/// all of them in the order of the group: its own output or, of an all_reduce,
/// its part of every output. Members may do so at the same time; all outputs
/// are complete when all are done.
void computeShare(const program::Exchange &exchange,
                  llvm::ArrayRef<Contribution> members, size_t place);

} // namespace mf::ranks

#endif // MF_RANKS_COLLECTIVESHARE_H
