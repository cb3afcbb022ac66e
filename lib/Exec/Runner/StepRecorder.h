//===- StepRecorder.h - Records when work ran -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_STEPRECORDER_H
#define MF_LIB_EXEC_RUNNER_STEPRECORDER_H

#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Program/Program.h"

namespace mf::runner {

/// The record of one rank's step. The issuing thread adds an entry, in the
/// order of the stream, and the stream's thread writes the times there. Nothing
/// is locked and no entry moves: memory for a whole step is reserved at the
/// start.
class StepRecorder {
public:
  explicit StepRecorder(const program::StageProgram &stage);

  /// Adds an entry for the record of an instruction, for at most one step. Only
  /// one thread may call it. The entry is valid until `take`.
  RecordedWork *add(uint32_t stream, uint32_t position,
                    std::optional<uint32_t> instruction);

  /// Must be called when all streams are synchronised.
  std::vector<std::vector<RecordedWork>> take() { return std::move(streams); }

private:
  std::vector<std::vector<RecordedWork>> streams;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_STEPRECORDER_H
