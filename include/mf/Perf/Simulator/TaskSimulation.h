//===- TaskSimulation.h - A lowered step without a target -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Simulates the tasks of a step if kernels take time in proportion to their
// FLOPs. It does not use the schedule that the program was made from: the
// bubbles follow from kernels, events and exchanges alone.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_SIMULATOR_TASKSIMULATION_H
#define MF_PERF_SIMULATOR_TASKSIMULATION_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::simulator {

/// The durations of instructions. Copies and collectives take no time.
struct TaskCosts {
  /// The floating-point operations per unit of time; if 0, the longest forward
  /// takes one unit.
  double flopsPerUnit = 0;
  /// The duration of a message between stages, in units.
  double transferTime = 0;

  /// Checks that both are finite and not negative.
  llvm::Error check() const;
};

/// The times of the step's tasks (mf/Program/StepTasks.h). The update is no
/// task, and its time is not part of `end`.
struct SimulatedTasks {
  /// Chunks are numbered in the order in which the first micro-batch passes
  /// through them.
  schedule::Pipeline pipeline;
  /// The times of the tasks. `real` counts recomputed operators as work. Memory
  /// is not computed.
  events::PipelineTimeline timeline;
  /// For each stage, the total time of the kernels of its tasks.
  std::vector<double> busy;
  /// The floating-point operations that make up a unit of time.
  double flopsPerUnit = 0;
};

/// Simulates one rank of each stage, which represents all of its ranks. Fails
/// with a LocatedError if too many calls use a frame, or if streams wait for
/// each other.
llvm::Expected<SimulatedTasks> simulateTasks(const program::Program &program,
                                             const TaskCosts &costs);

/// Prints the end and the bubble of a step whose tasks were simulated, and the
/// time and memory of each stage.
void printStepTasks(const program::Program &program, const SimulatedTasks &step,
                    llvm::raw_ostream &os);

} // namespace mf::simulator

#endif // MF_PERF_SIMULATOR_TASKSIMULATION_H
