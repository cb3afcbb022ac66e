//===- RoutineParts.h - Routines cut where they wait -----------*- C++ -*-===//

#ifndef MF_PASSES_LOWER_ROUTINEPARTS_H
#define MF_PASSES_LOWER_ROUTINEPARTS_H

#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// Cuts a routine where the compute stream waits for an exchange beside which
/// the routine launches nothing. The first part takes the routine's name and
/// place, the others follow it. None if there is no such place, or if the
/// routine copies between device and host: a copy's distance counts launches of
/// whole routines.
std::optional<RoutineParts> cutRoutine(ProgramBuilder &program,
                                       ascend::RoutineOp whole);

/// Cuts the routines that a schedule runs in slots of several tasks.
void cutPairedRoutines(ProgramBuilder &program, ir::ScheduleOp schedule);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_ROUTINEPARTS_H
