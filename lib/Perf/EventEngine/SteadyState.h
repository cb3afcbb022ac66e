//===- SteadyState.h - Periods that need no simulation ----------*- C++ -*-===//
//
// Queues that do the same again and again come to a state from which all that
// they do is what they did before, later by a constant. It is looked for where
// queues are marked (Queues::markPeriod) and taken only if it is proven:
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
// How queues go on is a function of just that, and of differences of times
// only, which a tick makes exact. So the next period ends in that state again.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SIM_STEADYSTATE_H
#define MF_LIB_SIM_STEADYSTATE_H

#include "Simulation.h"

namespace mf::sim {

/// Simulates the runs of marked queues, if there is a tick, and skips what
/// repeats. Leaves what is behind them.
void skipPeriods(const Queues &queues, Simulation &simulation);

} // namespace mf::sim

#endif // MF_LIB_SIM_STEADYSTATE_H
