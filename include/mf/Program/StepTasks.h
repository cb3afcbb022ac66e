//===- StepTasks.h - The tasks among a step's calls -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_STEPTASKS_H
#define MF_PROGRAM_STEPTASKS_H

#include "mf/Pipeline/Schedule.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// The run of a phase of a chunk for a micro-batch. It is one call of the step,
/// or several if its routine is cut into parts.
struct StepTask {
  /// An index into StageProgram::layouts: the first layout of the chunk, which
  /// identifies the chunk.
  uint32_t layout = 0;
  int64_t microBatch = 0;
  schedule::Phase phase = schedule::Phase::Forward;
  /// The positions of its calls in the step, ascending and at least one. The
  /// step may call parts of other tasks between them.
  llvm::SmallVector<uint32_t, 1> calls = {};
};

/// Returns the tasks of a stage in the order of their first calls, which have
/// frames. The first task of a frame is a forward. A backward follows, or an
/// input gradient and a weight gradient. A routine may recompute values before
/// each of them. A routine that continues belongs to the task before it. Fails
/// with a LocatedError if a frame has more tasks or begins with such a routine.
llvm::Expected<std::vector<StepTask>> findTasks(const StageProgram &stage);

/// Returns for each position in the step the index of the task whose call is
/// there, or -1.
std::vector<int32_t> getTasksOfCalls(const StageProgram &stage,
                                     llvm::ArrayRef<StepTask> tasks);

} // namespace mf::program

#endif // MF_PROGRAM_STEPTASKS_H
