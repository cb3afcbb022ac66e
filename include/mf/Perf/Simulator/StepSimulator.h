//===- StepSimulator.h - A lowered step on a target -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Puts the instructions of a program, with its streams and events exactly as
// they are executed, on the queues of the event engine
// (mf/Perf/EventEngine/Queues.h), each with its duration on a target.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_SIMULATOR_STEPSIMULATOR_H
#define MF_PERF_SIMULATOR_STEPSIMULATOR_H

#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Program/Program.h"

namespace mf::simulator {

/// The parts of a timeline that a simulation computes.
struct SimulationOptions {
  /// True if each instruction has its own span. Otherwise consecutive kernels
  /// of a stream share one, with the activity of the first.
  bool withSpans = true;
  /// True to compute the memory over time, which needs `withSpans`.
  bool withMemory = true;
  /// True to compute what the step's time consists of.
  bool withCriticalPath = true;
  /// True to compute what the peak of each stage consists of.
  bool withPeakContents = true;
  /// True to compute how the step's time depends on each number of the target,
  /// which needs `withCriticalPath`.
  bool withSensitivity = true;
  /// The tokens of the rank whose experts are chosen most often, divided by the
  /// mean. All ranks wait for that one.
  double expertLoad = 1;
};

/// Simulates one rank of each stage. Fails with a LocatedError if streams wait
/// for each other or a kernel has no rate, and with another error if the ranks
/// do not fit the target.
llvm::Expected<timeline::StepTimeline>
simulate(const program::Program &program, const target::Target &target,
         const SimulationOptions &options = {});

} // namespace mf::simulator

#endif // MF_PERF_SIMULATOR_STEPSIMULATOR_H
