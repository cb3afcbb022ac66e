//===- TimelineParts.h - Code that traces and profiles share ----*- C++ -*-===//
//
// Names of tracks and tasks, and the order in which they are shown.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_TIMELINE_TIMELINEPARTS_H
#define MF_LIB_TIMELINE_TIMELINEPARTS_H

#include "Clock.h"

namespace mf::timeline {

/// Names of a step's tasks as its schedule has them: `F0`, or `F1.0` where
/// there are more chunks than stages.
class TaskNames {
public:
  explicit TaskNames(const StepTimeline &timeline);
  std::string get(const TaskSpan &task) const;

private:
  schedule::Pipeline pipeline;
};

/// Streams in the order in which they are shown: the compute stream, others
/// that compute, those that communicate, and copies to and from the host.
std::vector<uint32_t> getStreamOrder(const StageTimeline &stage);

/// Tasks in the order of time, each on the first lane that is free: what
/// overlaps on one thread of a trace is not shown right. Mostly one lane.
std::vector<std::vector<uint32_t>> makeLanes(llvm::ArrayRef<TaskSpan> tasks);

/// A kernel by its name, and what holds the device up ("held by all_gather");
/// all else by its kind, which says more ("all_gather over mp").
llvm::StringRef getSpanName(const Activity &activity);

/// `bf16[1024,4096]`.
std::string getShape(const TensorShape &shape);

/// `bf16[1024,4096] f32[4096] -> bf16[1024]`; empty if there are no operands.
std::string getShapes(const Activity &activity);

/// Bytes alive from a time on.
struct MemoryLevel {
  Nanoseconds time = 0;
  int64_t bytes = 0;
};

/// The points of memory up to the step's end, where the last level stands
/// again. Changes within a nanosecond are shown by the highest and the last
/// level.
std::vector<MemoryLevel> getMemoryLevels(const StepTimeline &timeline,
                                         const StageTimeline &stage);

} // namespace mf::timeline

#endif // MF_LIB_TIMELINE_TIMELINEPARTS_H
