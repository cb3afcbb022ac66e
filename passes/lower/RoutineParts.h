//===- RoutineParts.h - Routines cut where they wait -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_ROUTINEPARTS_H
#define MF_PASSES_LOWER_ROUTINEPARTS_H

#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// Cuts a routine at each wait of the compute stream for an exchange during
/// which the routine launches nothing. The first part gets the name and place
/// of the routine, and the others follow it. Returns none if there is no such
/// wait, or if the routine copies between device and host, because the distance
/// of a copy counts launches of whole routines.
std::optional<RoutineParts> cutRoutine(ProgramBuilder &program,
                                       ascend::RoutineOp whole);

/// Cuts the routines that a schedule runs in slots of several tasks.
void cutPairedRoutines(ProgramBuilder &program, ir::ScheduleOp schedule);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_ROUTINEPARTS_H
