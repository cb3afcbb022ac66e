//===- StepSimulator.h - A lowered step on a target -------------*- C++ -*-===//
//
// Puts the instructions of a program, with its streams and events exactly as
// they are executed, on the queues of the simulator
// (mf/Perf/EventEngine/Queues.h), each with its time on a target.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIMULATOR_STEPSIMULATOR_H
#define MF_SIMULATOR_STEPSIMULATOR_H

#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/Program.h"

namespace mf::simulator {

struct SimulationOptions {
  /// Whether each instruction has a span of its own; else kernels that follow
  /// one another on a stream share one, with the activity of the first.
  bool withSpans = true;
  /// Whether the result says what each number of the target is worth.
  bool withSensitivity = true;
  /// Tokens of the rank whose experts are chosen most often, over the mean: all
  /// wait for that rank.
  double expertLoad = 1;
};

/// Simulates one rank of each stage. A LocatedError if streams wait for each
/// other or a kernel has no rate; an error if ranks do not fit the target.
llvm::Expected<timeline::StepTimeline>
simulate(const program::Program &program, const target::Target &target,
         const SimulationOptions &options = {});

} // namespace mf::simulator

#endif // MF_SIMULATOR_STEPSIMULATOR_H
