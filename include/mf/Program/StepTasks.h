//===- StepTasks.h - The tasks among a step's calls -------------*- C++ -*-===//

#ifndef MF_PROGRAM_STEPTASKS_H
#define MF_PROGRAM_STEPTASKS_H

#include "mf/Pipeline/Schedule.h"
#include "mf/Program/Program.h"
#include "llvm/Support/Error.h"

namespace mf::program {

/// A call of the step that runs a phase of a chunk for a micro-batch.
struct StepTask {
  /// The position of the call in the step.
  uint32_t position = 0;
  /// An index into StageProgram::layouts: the first layout of the chunk, which
  /// identifies the chunk.
  uint32_t layout = 0;
  int64_t microBatch = 0;
  schedule::Phase phase = schedule::Phase::Forward;
};

/// Returns the tasks of a stage in order, which are the calls that have frames.
/// The first call of a frame is a forward. A backward follows, or an input
/// gradient and a weight gradient. A routine may recompute values before each
/// of them. Fails with a LocatedError if a frame has more calls.
llvm::Expected<std::vector<StepTask>> findTasks(const StageProgram &stage);

} // namespace mf::program

#endif // MF_PROGRAM_STEPTASKS_H
