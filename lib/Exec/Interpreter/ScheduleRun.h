//===- ScheduleRun.h - A stage's schedule, task by task --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_SCHEDULERUN_H
#define MF_LIB_EXEC_INTERPRETER_SCHEDULERUN_H

#include "Rank.h"

namespace mf::interpreter {

/// Runs the tasks of `schedule` in order.
mlir::LogicalResult runSchedule(Rank &rank, ir::ScheduleOp schedule);

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_SCHEDULERUN_H
