//===- RowShare.h - Rows that counts send to their experts -----*- C++ -*-===//

#ifndef MF_LIB_RUNNER_ROWSHARE_H
#define MF_LIB_RUNNER_ROWSHARE_H

#include "CollectiveShare.h"
#include "Meeting.h"
#include "mf/Signatures/RowCounts.h"
#include <atomic>

namespace mf::runner {

/// The counts that a member of a group of `numMembers` brings.
RowCounts getCounts(const program::Exchange &exchange,
                    const Contribution &member, size_t numMembers);

/// Checks the counts of all members. Where they cannot be, the member that they
/// are about, if it is the one at `place`, fails; any other waits until the run
/// is aborted.
llvm::Error checkRows(const program::Channel &channel,
                      const program::Exchange &exchange,
                      llvm::ArrayRef<RowCounts> counts, size_t place,
                      llvm::ArrayRef<int64_t> ranks, const Contribution &own,
                      Meeting &meeting, const std::atomic<bool> &aborted);

/// What a member sends to the one at `place`, in bytes of its input.
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

} // namespace mf::runner

#endif // MF_LIB_RUNNER_ROWSHARE_H
