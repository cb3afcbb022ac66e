//===- StepRecord.h - Times of the work in a step ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RUNNER_STEPRECORD_H
#define MF_EXEC_RUNNER_STEPRECORD_H

#include "mf/Exec/Device/Stream.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace mf::runner {

/// One instruction that a stream ran.
struct RecordedWork {
  /// The position in the step of the instruction, or of the call that contains
  /// it.
  uint32_t position = 0;
  /// The index in the call's routine. Empty for an instruction of the step
  /// itself.
  std::optional<uint32_t> instruction;
  WorkTimes times;
};

/// The work that the streams of one rank ran in a step, in the order of each
/// stream.
struct RankRecord {
  int64_t rank = 0;
  /// The work of each stream of the stage.
  std::vector<std::vector<RecordedWork>> streams;
};

/// One step on the ranks that were recorded, ascending.
struct StepRecord {
  WorkTimes step;
  std::vector<RankRecord> ranks;
};

} // namespace mf::runner

#endif // MF_EXEC_RUNNER_STEPRECORD_H
