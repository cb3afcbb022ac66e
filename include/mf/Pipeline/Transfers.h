//===- Transfers.h - Issue times of a schedule's messages -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A task that reads a result of a chunk on another stage receives it in a
// message. Sender and receiver issue the message on separate streams. It starts
// when both have issued it and the sender's task has ended.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PIPELINE_TRANSFERS_H
#define MF_PIPELINE_TRANSFERS_H

#include "mf/Pipeline/Schedule.h"

namespace mf::schedule {

/// One message between two stages.
struct Transfer {
  /// The task that computes the value of the message, and the task that reads
  /// it. They are forwards of neighbouring chunks, or backwards (input
  /// gradients).
  Task producer;
  Task reader;
  /// The receive is issued this many tasks before the reader on the receiving
  /// stage, or before the stage's first task if there are fewer. At least 1.
  int64_t ahead = 1;
  /// The send has completed before the sender starts the task this many places
  /// after the producer, or by the end of the step if there are fewer. At least
  /// 1.
  int64_t behind = 2;
};

/// Returns the messages of a verified schedule in the order of their readers:
/// by stage, then by task.
std::vector<Transfer> planTransfers(const Schedule &schedule);

/// Checks that the transfers are those of the schedule, and that all of them
/// complete if each starts only after both sides have issued it. The error
/// names two tasks that wait for one another.
llvm::Error verifyTransfers(const Schedule &schedule,
                            llvm::ArrayRef<Transfer> transfers);

} // namespace mf::schedule

#endif // MF_PIPELINE_TRANSFERS_H
