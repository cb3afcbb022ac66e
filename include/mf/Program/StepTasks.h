//===- StepTasks.h - The tasks among a step's calls -------------*- C++ -*-===//

#ifndef MF_PROGRAM_STEPTASKS_H
#define MF_PROGRAM_STEPTASKS_H

#include "mf/Pipeline/Schedule.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// A call of the step that runs a phase of a chunk for a micro-batch.
struct StepTask {
  /// Position of the call in the step.
  uint32_t position = 0;
  /// Index into StageProgram::layouts; stands for the chunk.
  uint32_t layout = 0;
  int64_t microBatch = 0;
  schedule::Phase phase = schedule::Phase::Forward;
};

/// The tasks of a stage in order: the calls that have frames. The first call of
/// a frame is a forward; then comes a backward, or an input gradient and a
/// weight gradient, before which a routine may recompute. A LocatedError if a
/// frame has more calls.
llvm::Expected<std::vector<StepTask>> findTasks(const StageProgram &stage);

} // namespace mf::program

#endif // MF_PROGRAM_STEPTASKS_H
