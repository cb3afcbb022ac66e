//===- StepTransfers.h - Loads and messages of a step's calls ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A transfer of a value into a call (load, receive) is issued on a separate
// stream `ahead` calls earlier, after an event of the call before that one, so
// its buffer is not needed earlier. A value that a call sends must have left
// before the call that is `behind` calls later, where its buffer becomes free.
// With 1 and 2, a transfer overlaps one whole call on either side, at the cost
// of one more message in memory. A value that a call passes to a later call of
// the stage stays in one message.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_STEPTRANSFERS_H
#define MF_PASSES_LOWER_STEPTRANSFERS_H

#include "passes/lower/StepCalls.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

class StepTransfers {
public:
  /// Determines when the transfers of calls are issued. Fails if messages of a
  /// channel would arrive in another order than they are read.
  mlir::LogicalResult place(llvm::ArrayRef<StepCall> calls);
  /// Adapts the places to calls in parts: `firsts` has the first part of each
  /// call, and there are `numCalls` parts.
  void renumber(llvm::ArrayRef<size_t> firsts, size_t numCalls);

  /// Returns whether a transfer is issued right before a call.
  bool areBefore(size_t call) const { return !issuedBefore[call].empty(); }
  /// Issues the transfers before a call. They start after event `after` unless
  /// it is null. `values` has the buffers of the schedule's tensors.
  void emitBefore(size_t call, mlir::Value after, StepBlock &step,
                  const llvm::DenseMap<mlir::Value, mlir::Value> &values);
  /// Returns the event that is recorded when the value of a load or receive has
  /// arrived.
  mlir::Value getArrival(mlir::Operation *task) const {
    return arrivals.lookup(task);
  }
  /// Returns the call before which the message has left; none if that is the
  /// end of the step.
  std::optional<size_t> getCallAfter(mlir::Operation *send) const {
    auto found = sentBefore.find(send);
    return found == sentBefore.end() ? std::nullopt
                                     : std::optional(found->second);
  }

private:
  /// For each call, the loads and receives that are issued right before it.
  std::vector<llvm::SmallVector<mlir::Operation *, 2>> issuedBefore;
  /// For each send, the call before which the message has left.
  llvm::MapVector<mlir::Operation *, size_t> sentBefore;
  llvm::DenseMap<mlir::Operation *, mlir::Value> arrivals;
};

/// Sends the value in `buffer` after event `after`. Returns the event of the
/// end of the transfer.
mlir::Value emitSend(StepBlock &step, ir::SendOp send, mlir::Value buffer,
                     mlir::Value after);

/// Copies a scalar that changes with every step to the device. Returns the
/// event of the end of the copy.
mlir::Value emitInputCopy(StepBlock &step, mlir::Value buffer,
                          ascend::Role role);

/// Copies the quantities that the host reads after the step to host memory.
void emitReports(StepBlock &step);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPTRANSFERS_H
