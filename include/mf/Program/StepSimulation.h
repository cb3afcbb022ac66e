//===- StepSimulation.h - A lowered step in time --------------*- C++ -*-===//
//
// What the streams of all stages do when: the instructions of a program on the
// lines of the simulator (mf/Sim/Lines.h). Nothing is known of the schedule
// that the program was made from; what bubbles it has is seen from its kernels,
// events and exchanges alone.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_STEPSIMULATION_H
#define MF_PROGRAM_STEPSIMULATION_H

#include "mf/Program/Program.h"
#include "mf/Sim/PipelineModel.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// What instructions take. Copies between device and host, and collectives,
/// take no time of their own.
struct StepCosts {
  /// Floating-point operations that a kernel does in a unit of time; if 0,
  /// those of the longest forward.
  double flopsPerUnit = 0;
  /// Of a message between stages, in units.
  double transferTime = 0;

  /// Tells whether both are finite and not negative.
  llvm::Error check() const;
};

/// The tasks of the step in time. A task is a call that has a frame: the first
/// of a frame is a forward, then comes a backward, or an input gradient and a
/// weight gradient. The update is none; its time is not in `end`.
struct SimulatedStep {
  /// Chunks are numbered as the first micro-batch runs through them.
  schedule::Pipeline pipeline;
  /// `real` counts what is recomputed as work. Memory is left out.
  sim::PipelineTimeline timeline;
  /// Time that the kernels of each stage's tasks take.
  std::vector<double> busy;
  /// As given, or found.
  double flopsPerUnit = 0;
};

/// Simulates one rank of each stage; it stands for all of them. A LocatedError
/// if a frame is not used as above, or if streams wait for each other.
llvm::Expected<SimulatedStep> simulateStep(const Program &program,
                                           const StepCosts &costs);

} // namespace mf::program

#endif // MF_PROGRAM_STEPSIMULATION_H
