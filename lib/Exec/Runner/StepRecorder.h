//===- StepRecorder.h - Takes down when work ran ---------------*- C++ -*-===//

#ifndef MF_LIB_RUNNER_STEPRECORDER_H
#define MF_LIB_RUNNER_STEPRECORDER_H

#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Program/Program.h"

namespace mf::runner {

/// The record of one rank's step. Whoever issues work adds its place, in the
/// order of the stream; the stream's thread writes the times there. Nothing is
/// locked and nothing moves: there is room for a whole step from the begin.
class StepRecorder {
public:
  explicit StepRecorder(const program::StageProgram &stage);

  /// Adds a place for the record of an instruction, for one step at most. For
  /// one thread; the place stays until `take`.
  RecordedWork *add(uint32_t stream, uint32_t position,
                    std::optional<uint32_t> instruction);

  /// To be called when all streams are synchronised.
  std::vector<std::vector<RecordedWork>> take() { return std::move(streams); }

private:
  std::vector<std::vector<RecordedWork>> streams;
};

} // namespace mf::runner

#endif // MF_LIB_RUNNER_STEPRECORDER_H
