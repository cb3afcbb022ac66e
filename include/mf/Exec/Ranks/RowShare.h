//===- RowShare.h - Rows that counts send to their experts -----*- C++ -*-===//

#ifndef MF_RANKS_ROWSHARE_H
#define MF_RANKS_ROWSHARE_H

#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Program/Signatures/RowCounts.h"

namespace mf::ranks {

/// The counts that a member of a group of `numMembers` brings.
RowCounts getCounts(const program::Exchange &exchange,
                    const Contribution &member, size_t numMembers);

/// Checks the counts of all members, which messages call `ranks`; gives none if
/// the rows can be exchanged. The reason begins with the operator or,
/// if that has no name, the channel. Inputs and outputs are as large as those
/// of `own`.
std::optional<RowCountError>
findRowCountError(const program::Exchange &exchange, llvm::StringRef channel,
                  llvm::ArrayRef<RowCounts> counts,
                  llvm::ArrayRef<int64_t> ranks, const Contribution &own);

/// The rows that a member sends to the one at `place`, in bytes of its input.
ByteRange getRowsFor(const program::Exchange &exchange, const RowCounts &counts,
                     size_t place);
/// Where what the member at `place` sends to a member lies in its output.
ByteRange getRowsFrom(const program::Exchange &exchange,
                      const RowCounts &counts, size_t place);

/// Fills the output behind the rows that arrive.
void fillRest(const program::Exchange &exchange, const RowCounts &counts,
              const Contribution &own);

/// Computes the output of the member at `place`, given the memory of all. The
/// counts must have been checked.
void takeRows(const program::Exchange &exchange,
              llvm::ArrayRef<Contribution> members, size_t place);

} // namespace mf::ranks

#endif // MF_RANKS_ROWSHARE_H
