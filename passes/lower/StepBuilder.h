//===- StepBuilder.h - Schedules to steps ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_STEPBUILDER_H
#define MF_PASSES_LOWER_STEPBUILDER_H

#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// Lowers a schedule to the `ascend.step` of the program. Routines run on the
/// compute stream, in the order of the schedule's tasks. Transfers, copies of
/// swapped values and sums over ranks run concurrently on other streams.
mlir::LogicalResult buildStep(ProgramBuilder &program, ir::ScheduleOp schedule);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPBUILDER_H
