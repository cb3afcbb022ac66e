//===- RowShare.h - Rows that are exchanged by counts -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_ROWSHARE_H
#define MF_EXEC_RANKS_ROWSHARE_H

#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Program/Signatures/RowCounts.h"

namespace mf::ranks {

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

#endif // MF_EXEC_RANKS_ROWSHARE_H
