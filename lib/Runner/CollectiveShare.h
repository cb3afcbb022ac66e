//===- CollectiveShare.h - What a collective computes ----------*- C++ -*-===//
//
// Collectives apart from how bytes travel. A reduction takes the parts in the
// order of the group, whoever comes first and whoever computes it, so
// all_reduce and reduce_scatter of the same parts give the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_RUNNER_COLLECTIVESHARE_H
#define MF_LIB_RUNNER_COLLECTIVESHARE_H

#include "mf/Runner/Communicator.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf::runner {

/// Combines `parts`, each of `elements` elements, element by element in their
/// order. Floating-point values are summed in fp32 and rounded once; integers
/// wrap around; a maximum is that of Maximum.h. `output` may be one of the
/// parts.
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

} // namespace mf::runner

#endif // MF_LIB_RUNNER_COLLECTIVESHARE_H
