//===- StepRecord.h - When a step's work ran ------------------*- C++ -*-===//

#ifndef MF_RUNNER_STEPRECORD_H
#define MF_RUNNER_STEPRECORD_H

#include "mf/Exec/Device/Stream.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace mf::runner {

/// One instruction that a stream ran.
struct RecordedWork {
  /// Position in the step, of the instruction or of the call that it is in.
  uint32_t position = 0;
  /// Number in the call's routine; none of one of the step itself.
  std::optional<uint32_t> instruction;
  WorkTimes times;
};

/// The work that the streams of one rank ran in a step, each in its order.
struct RankRecord {
  int64_t rank = 0;
  /// By stream of the stage.
  std::vector<std::vector<RecordedWork>> streams;
};

/// One step of the ranks that were recorded, ascending.
struct StepRecord {
  WorkTimes step;
  std::vector<RankRecord> ranks;
};

} // namespace mf::runner

#endif // MF_RUNNER_STEPRECORD_H
