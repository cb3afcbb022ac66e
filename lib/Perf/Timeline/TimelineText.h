//===- TimelineText.h - Text in traces, profiles and reports ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names of tracks and tasks, and the order in which they are shown.
//
// Traces and profiles write microseconds with digits down to nanoseconds. All
// numbers are computed from whole nanoseconds, so that written times add up to
// the last digit.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_TIMELINETEXT_H
#define MF_LIB_PERF_TIMELINE_TIMELINETEXT_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace mf::timeline {

using Nanoseconds = int64_t;

/// Rounds to the nearest nanosecond. `seconds` must be finite and less than 100
/// years.
Nanoseconds toNanoseconds(double seconds);

/// Prints microseconds without trailing zeros: "12.5".
void printMicroseconds(llvm::raw_ostream &os, Nanoseconds time);

/// Prints microseconds with three decimals: "12.500".
void printPaddedMicroseconds(llvm::raw_ostream &os, Nanoseconds time);

/// Prints milliseconds with six decimals.
void printPaddedMilliseconds(llvm::raw_ostream &os, Nanoseconds time);

/// Tells whether times are finite, no span or task ends before it begins, spans
/// of a stream follow one another, and their activities and tasks exist. The
/// error names the span.
llvm::Error checkTimes(const StepTimeline &timeline);

/// Returns formatExact, or "null" for numbers that are not finite, which JSON
/// cannot represent.
std::string formatJsonNumber(double value);

/// Adds a member to an open object.
void addNumber(llvm::json::OStream &json, llvm::StringRef name, double value);

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

#endif // MF_LIB_PERF_TIMELINE_TIMELINETEXT_H
