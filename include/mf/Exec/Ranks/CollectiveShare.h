//===- CollectiveShare.h - Computation of collectives -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The computation of collectives, independent of how bytes are transferred, for
// the streams of the runner and the tensors of the interpreter. A reduction
// combines the parts in the order of the group, whichever arrives first and
// whichever member computes it, so that all_reduce and reduce_scatter of the
// same parts have the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RANKS_COLLECTIVESHARE_H
#define MF_EXEC_RANKS_COLLECTIVESHARE_H

#include "mf/Program/Instruction.h"
#include "mf/Program/Signatures/RowCounts.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstddef>

namespace mf::ranks {

/// The memory of one member of a collective. Input and output are either the
/// same memory, which all_reduce and broadcast allow, or do not overlap.
struct Contribution {
  const std::byte *input = nullptr;
  std::byte *output = nullptr;
  int64_t inputBytes = 0;
  int64_t outputBytes = 0;
  /// The counts of an all_to_all_v. Each array has an entry for every expert of
  /// the group.
  const float *send = nullptr;
  const float *receive = nullptr;
};

/// Combines `parts`, each of `elements` elements, element by element in their
/// order. Floating-point values are summed in fp32 and rounded once. Integers
/// wrap around. The maximum is `maximum` of IEEE 754-2019: a NaN if either
/// operand is one, and +0 is larger than -0. `output` may be one of the parts.
void reduceParts(llvm::ArrayRef<const std::byte *> parts, std::byte *output,
                 int64_t elements, DType type, Reduction reduction);

/// A range of bytes of a member's input or output.
struct ByteRange {
  int64_t begin = 0;
  int64_t bytes = 0;
};

/// Returns whether each member combines one share of all inputs (all_reduce,
/// reduce_scatter, all_to_all). Otherwise inputs are passed on unchanged.
bool combinesShares(CollectiveKind kind);

/// Returns the share of every input that member `place` of `numMembers`
/// combines. combinesShares must be true.
ByteRange getShare(const program::Exchange &exchange, int64_t inputBytes,
                   size_t numMembers, size_t place);

/// Combines the shares of all inputs, each of `bytes` bytes, in the order of
/// the group into `output`: they are reduced or concatenated. A part that is
/// already in its place is not copied.
void combineShare(const program::Exchange &exchange,
                  llvm::ArrayRef<const std::byte *> parts, int64_t bytes,
                  std::byte *output);

/// Computes the share of member `place` in a collective, given the memory of
/// all members in the order of the group. The share is the member's own output
/// or, for an all_reduce, its share of every output. Members may do so
/// concurrently. All outputs are complete when all members are done.
void computeShare(const program::Exchange &exchange,
                  llvm::ArrayRef<Contribution> members, size_t place);

//===----------------------------------------------------------------------===//
// Rows that are exchanged by counts
//===----------------------------------------------------------------------===//

/// Returns the counts of a member of a group of `numMembers`.
RowCounts getCounts(const program::Exchange &exchange,
                    const Contribution &member, size_t numMembers);

/// Checks the counts of all members, which messages name by `ranks`. Returns
/// none if the rows can be exchanged. The reason begins with the operator or,
/// if that has no name, with the channel. The inputs and outputs of all members
/// must have the sizes of those of `own`.
std::optional<RowCountError>
findRowCountError(const program::Exchange &exchange, llvm::StringRef channel,
                  llvm::ArrayRef<RowCounts> counts,
                  llvm::ArrayRef<int64_t> ranks, const Contribution &own);

/// Returns the rows that a member sends to the member at `place`, as bytes of
/// its input.
ByteRange getRowsFor(const program::Exchange &exchange, const RowCounts &counts,
                     size_t place);
/// Returns the bytes of a member's output that it receives from the member at
/// `place`.
ByteRange getRowsFrom(const program::Exchange &exchange,
                      const RowCounts &counts, size_t place);

/// Fills the rows of the output after those that arrive.
void fillRest(const program::Exchange &exchange, const RowCounts &counts,
              const Contribution &own);

/// Computes the output of the member at `place`, given the memory of all
/// members. The counts must have been checked.
void takeRows(const program::Exchange &exchange,
              llvm::ArrayRef<Contribution> members, size_t place);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_COLLECTIVESHARE_H
