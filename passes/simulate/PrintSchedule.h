//===- PrintSchedule.h - Prints the tasks of a step -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SIMULATE_PRINTSCHEDULE_H
#define MF_PASSES_SIMULATE_PRINTSCHEDULE_H

#include "mf/Perf/Simulator/TaskSimulation.h"

namespace mf::passes {

/// Prints the end and the bubble of a step whose tasks were simulated, and the
/// time and memory of each stage.
void printStepTasks(const program::Program &program,
                    const simulator::SimulatedTasks &step,
                    llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_SIMULATE_PRINTSCHEDULE_H
