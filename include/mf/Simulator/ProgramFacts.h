//===- ProgramFacts.h - What a timeline says of its program ---*- C++ -*-===//
//
// The parts of a timeline that do not depend on whether it was simulated or
// executed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIMULATOR_PROGRAMFACTS_H
#define MF_SIMULATOR_PROGRAMFACTS_H

#include "mf/Program/Program.h"
#include "mf/Timeline/StepTimeline.h"

namespace mf::simulator {

/// Sizes of memory, what it holds at the peak, and FLOPs.
void addStageFacts(const program::Program &program,
                   const program::StageProgram &stage,
                   timeline::StageTimeline &timeline);

/// Ranks, micro-batches and tokens; numbers the chunks of tasks, which are
/// layouts so far, in the order in which their first forwards start.
void addStepFacts(const program::Program &program,
                  timeline::StepTimeline &timeline);

} // namespace mf::simulator

#endif // MF_SIMULATOR_PROGRAMFACTS_H
