//===- SteadyState.h - Periods that need no simulation ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Queues that repeat their actions reach a state after which all events are
// those of the previous period, later by a constant. Such a state is searched
// at the marks of queues (Queues::markPeriod). It is used only if these
// conditions are proven:
//
// - The queues' items repeat: see SteadyState.cpp.
// - In a simulation period by period (Simulation::run with limits), all queues
//   are at the same places of their periods at two of these limits. Their
//   clocks differ by the same time, transfers under way have the same progress,
//   and queues that have not moved arrived too early to matter.
// - The events for which waits of the last period waited were recorded at one
//   place of the periods. Over all periods for which later waits can wait, the
//   recorded events are later by the same time, or are long past.
// - At the end, too, the events for which queues wait are still to come.
//
// The future of the queues depends only on this state and on differences of
// times, which a tick makes exact. Therefore the next period ends in the same
// state again.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_EVENTENGINE_STEADYSTATE_H
#define MF_LIB_PERF_EVENTENGINE_STEADYSTATE_H

#include "Simulation.h"

namespace mf::events {

/// Simulates the runs of marked queues, if there is a tick, and skips
/// repetitions. Items after the runs are not simulated.
void skipPeriods(const Queues &queues, Simulation &simulation);

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_STEADYSTATE_H
