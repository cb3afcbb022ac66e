//===- SteadyState.h - Periods that need no simulation ----------*- C++ -*-===//
//
// Queues that repeat their actions reach a state after which all events are
// those of the previous period, later by a constant. Such a state is searched
// at the marks of queues (Queues::markPeriod). It is used only if these
// conditions are proven:
//
// - The queues' items repeat: see Periods.h.
// - Simulated period by period (Simulation::run with limits), at two of these
//   limits all queues stand at the same place of their periods, their clocks
//   differ by one and the same time, transfers under way are as far, and queues
//   that have not moved came too early to matter.
// - What waits of the last period waited for was recorded at one place of the
//   periods, and over all periods that those behind can wait for, what is
//   recorded is later by that time; or it has long happened.
// - In the end, too, what queues wait for is still to come.
//
// The future of the queues depends only on this state and on differences of
// times, which a tick makes exact. Therefore the next period ends in the same
// state again.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SIM_STEADYSTATE_H
#define MF_LIB_SIM_STEADYSTATE_H

#include "Simulation.h"

namespace mf::sim {

/// Simulates the runs of marked queues, if there is a tick, and skips
/// repetitions. Items after the runs are not simulated.
void skipPeriods(const Queues &queues, Simulation &simulation);

} // namespace mf::sim

#endif // MF_LIB_SIM_STEADYSTATE_H
