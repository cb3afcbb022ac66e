//===- TimelineParts.h - Shared code of traces and profiles -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names of tracks and tasks, and the order in which they are shown.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_TIMELINEPARTS_H
#define MF_LIB_PERF_TIMELINE_TIMELINEPARTS_H

#include "Clock.h"

namespace mf::timeline {

/// The names of a step's tasks as in its schedule: `F0`, or `F1.0` if there are
/// more chunks than stages.
class TaskNames {
public:
  explicit TaskNames(const StepTimeline &timeline);
  std::string get(const TaskSpan &task) const;

private:
  schedule::Pipeline pipeline;
};

/// Returns the streams in the order in which they are shown: the compute
/// stream, other streams that compute, those that communicate, and copies to
/// and from the host.
std::vector<uint32_t> getStreamOrder(const StageTimeline &stage);

/// Distributes tasks in order of time, each to the first lane that is free,
/// because overlapping tasks on one thread of a trace are not displayed
/// correctly. There is usually one lane.
std::vector<std::vector<uint32_t>> makeLanes(llvm::ArrayRef<TaskSpan> tasks);

/// Returns the name of a kernel, or the kind of any other work, which is more
/// informative ("all_gather over mp"). For spans that hold up the device, it is
/// "held by all_gather" or similar.
llvm::StringRef getSpanName(const Activity &activity);

/// Returns, for example, `bf16[1024,4096]`.
std::string getShape(const TensorShape &shape);

/// Returns, for example, `bf16[1024,4096] f32[4096] -> bf16[1024]`. Empty if
/// there are no operands.
std::string getShapes(const Activity &activity);

/// The number of bytes that are live from a time on.
struct MemoryLevel {
  Nanoseconds time = 0;
  int64_t bytes = 0;
};

/// Returns the points of memory up to the end of the step, at which the last
/// level is repeated. If the level changes within a nanosecond, only the
/// highest and the last level are returned.
std::vector<MemoryLevel> getMemoryLevels(const StepTimeline &timeline,
                                         const StageTimeline &stage);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_TIMELINEPARTS_H
