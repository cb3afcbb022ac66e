//===- Transfers.h - When the messages of a schedule are issued -*- C++ -*-===//
//
// A task that reads what a chunk of another stage has made gets it by a
// message. Sender and receiver issue it on streams of their own; it starts when
// both have, and when the sender's task is done.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SCHEDULE_TRANSFERS_H
#define MF_SCHEDULE_TRANSFERS_H

#include "mf/Pipeline/Schedule.h"

namespace mf::schedule {

/// One message between two stages.
struct Transfer {
  /// The task that makes the message, and the one that reads it: forwards of
  /// neighbouring chunks, or backwards (input gradients).
  Task producer;
  Task reader;
  /// The receive is issued that many tasks of the receiver before the reader,
  /// or before the stage's first task if there are fewer. At least 1.
  int64_t ahead = 1;
  /// The message has left before the sender starts the task that many after the
  /// producer, or by the end of the step if there are fewer. At least 1.
  int64_t behind = 2;
};

/// The messages of a verified schedule, in the order of their readers: stage by
/// stage, task by task.
std::vector<Transfer> planTransfers(const Schedule &schedule);

/// Tells whether the transfers are those of the schedule, and all end if each
/// starts only when both sides have issued it. The error names two tasks that
/// wait for one another.
llvm::Error verifyTransfers(const Schedule &schedule,
                            llvm::ArrayRef<Transfer> transfers);

} // namespace mf::schedule

#endif // MF_SCHEDULE_TRANSFERS_H
