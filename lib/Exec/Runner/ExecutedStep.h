//===- ExecutedStep.h - A recorded step as a timeline ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_EXECUTEDSTEP_H
#define MF_LIB_EXEC_RUNNER_EXECUTEDSTEP_H

#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Perf/Timeline/StepTimeline.h"

namespace mf::runner {

/// Returns the executed step of each stage's first rank, in the form of
/// simulated steps. The record has all of these ranks. `path` is the program's
/// file.
llvm::Expected<timeline::StepTimeline>
readExecution(const program::Program &program, const StepRecord &record,
              llvm::StringRef path);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_EXECUTEDSTEP_H
