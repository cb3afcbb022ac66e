//===- TaskSimulation.h - A lowered step without a target -----*- C++ -*-===//
//
// When the tasks of a step run if kernels take as long as their FLOPs. Nothing
// is known of the schedule that the program was made from; what bubbles it has
// is seen from its kernels, events and exchanges alone.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIMULATOR_TASKSIMULATION_H
#define MF_SIMULATOR_TASKSIMULATION_H

#include "mf/Perf/EventEngine/PipelineModel.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::simulator {

/// Times of instructions. Copies, and collectives, take no time of their own.
struct TaskCosts {
  /// Floating-point operations that a kernel does in a unit of time; if 0,
  /// those of the longest forward.
  double flopsPerUnit = 0;
  /// Time of a message between stages, in units.
  double transferTime = 0;

  /// Tells whether both are finite and not negative.
  llvm::Error check() const;
};

/// The tasks of the step in time (mf/Program/StepTasks.h). The update is none;
/// its time is not in `end`.
struct SimulatedTasks {
  /// Chunks are numbered as the first micro-batch runs through them.
  schedule::Pipeline pipeline;
  /// `real` counts recomputed operators as work. Memory is left out.
  sim::PipelineTimeline timeline;
  /// Time that the kernels of each stage's tasks take.
  std::vector<double> busy;
  /// FLOPs that count as a unit of time, as given or as found.
  double flopsPerUnit = 0;
};

/// Simulates one rank of each stage; it stands for all of them. A LocatedError
/// if a frame is used by too many calls, or if streams wait for each other.
llvm::Expected<SimulatedTasks> simulateTasks(const program::Program &program,
                                             const TaskCosts &costs);

} // namespace mf::simulator

#endif // MF_SIMULATOR_TASKSIMULATION_H
