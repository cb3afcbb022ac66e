//===- TimelineText.cpp - Text in traces, profiles and reports ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TimelineText.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

using llvm::createStringError;
using llvm::Error;
using llvm::formatv;
using llvm::raw_ostream;

namespace mf::timeline {

namespace {

/// The nanoseconds of 100 years fit in an int64_t.
constexpr double maxSeconds = 100.0 * 365 * 24 * 3600;

bool isTime(double seconds) { return std::abs(seconds) < maxSeconds; }

/// Prints `time` in units of 10^digits nanoseconds.
void printPadded(raw_ostream &os, Nanoseconds time, unsigned digits) {
  if (time < 0) {
    os << '-';
    time = -time;
  }
  Nanoseconds unit = 1;
  for (unsigned digit = 0; digit < digits; ++digit)
    unit *= 10;
  os << time / unit << '.';
  for (Nanoseconds rest = time % unit; unit > 1; rest %= unit) {
    unit /= 10;
    os << static_cast<char>('0' + rest / unit);
  }
}

Error checkStream(const StepTimeline &timeline, const StageTimeline &stage,
                  const StreamTimeline &stream) {
  double last = -maxSeconds;
  for (size_t number = 0; number < stream.spans.size(); ++number) {
    const Span &span = stream.spans[number];
    auto fail = [&](const char *what) {
      return createStringError(
          formatv("cannot write the timeline of stage {0}: span {1} of stream "
                  "'{2}' {3}",
                  stage.stage, number, stream.name, what));
    };
    if (!isTime(span.start) || !isTime(span.end))
      return fail("has a time that is not finite");
    if (span.end < span.start)
      return fail("ends before it begins");
    if (span.start < last)
      return fail("begins before the one in front of it ends");
    if (span.activity >= timeline.activities.size())
      return fail("is of an activity that is not there");
    if (span.task < -1 || span.task >= static_cast<int64_t>(stage.tasks.size()))
      return fail("is of a task that is not there");
    last = span.end;
  }
  return Error::success();
}

Error checkStage(const StepTimeline &timeline, const StageTimeline &stage) {
  auto fail = [&](const llvm::Twine &what) {
    return createStringError("cannot write the timeline of stage " +
                             llvm::Twine(stage.stage) + ": " + what);
  };
  for (const StreamTimeline &stream : stage.streams)
    if (Error error = checkStream(timeline, stage, stream))
      return error;
  for (const TaskSpan &task : stage.tasks)
    if (!isTime(task.start) || !isTime(task.end) || task.end < task.start)
      return fail("a task of micro-batch " + llvm::Twine(task.microBatch) +
                  " ends before it begins or has a time that is not finite");
  double last = -maxSeconds;
  for (const MemoryPoint &point : stage.memory) {
    if (!isTime(point.time) || point.time < last)
      return fail("its points of memory are not in the order of time");
    last = point.time;
  }
  if (!isTime(stage.end))
    return fail("its end is not finite");
  return Error::success();
}

bool isSpan(const StepTimeline &timeline, const SpanId &id) {
  return id.stage < timeline.stages.size() &&
         id.stream < timeline.stages[id.stage].streams.size() &&
         id.span < timeline.stages[id.stage].streams[id.stream].spans.size();
}

} // namespace

Nanoseconds toNanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

void printMicroseconds(raw_ostream &os, Nanoseconds time) {
  if (time < 0) {
    os << '-';
    time = -time;
  }
  os << time / 1000;
  const auto rest = static_cast<unsigned>(time % 1000);
  if (rest == 0)
    return;
  os << '.' << static_cast<char>('0' + rest / 100);
  if (rest % 100 == 0)
    return;
  os << static_cast<char>('0' + rest / 10 % 10);
  if (rest % 10 != 0)
    os << static_cast<char>('0' + rest % 10);
}

void printPaddedMicroseconds(raw_ostream &os, Nanoseconds time) {
  printPadded(os, time, 3);
}

void printPaddedMilliseconds(raw_ostream &os, Nanoseconds time) {
  printPadded(os, time, 6);
}

Error checkTimes(const StepTimeline &timeline) {
  for (const StageTimeline &stage : timeline.stages)
    if (Error error = checkStage(timeline, stage))
      return error;
  for (const Flow &flow : timeline.flows)
    if (!isSpan(timeline, flow.from) || !isSpan(timeline, flow.to))
      return createStringError("cannot write the timeline: a message is of a "
                               "span that is not there");
  if (!isTime(timeline.seconds))
    return createStringError(
        "cannot write the timeline: the time of the step is not finite");
  return Error::success();
}

std::string formatJsonNumber(double value) {
  return std::isfinite(value) ? formatExact(value) : "null";
}

void addNumber(llvm::json::OStream &json, llvm::StringRef name, double value) {
  json.attributeBegin(llvm::json::fixUTF8(name));
  json.rawValue(formatJsonNumber(value));
  json.attributeEnd();
}

namespace {

int getPlace(program::StreamKind kind) {
  switch (kind) {
  case program::StreamKind::Compute:
    return 0;
  case program::StreamKind::Communication:
    return 1;
  case program::StreamKind::DeviceToHost:
    return 2;
  case program::StreamKind::HostToDevice:
    return 3;
  }
  llvm_unreachable("covers all kinds");
}

void printShapes(llvm::raw_ostream &os, llvm::ArrayRef<TensorShape> shapes) {
  llvm::interleave(
      shapes, os, [&](const TensorShape &shape) { os << getShape(shape); },
      " ");
}

} // namespace

TaskNames::TaskNames(const StepTimeline &timeline) {
  pipeline.stages = static_cast<int64_t>(timeline.stages.size());
  int32_t last = 0;
  for (const StageTimeline &stage : timeline.stages)
    for (const TaskSpan &task : stage.tasks)
      last = std::max(last, task.chunk);
  // The names of tasks depend only on the number of chunks.
  pipeline.stageOfChunk.resize(last + 1);
}

std::string TaskNames::get(const TaskSpan &task) const {
  return pipeline.getName({task.phase, task.chunk, task.microBatch});
}

std::vector<uint32_t> getStreamOrder(const StageTimeline &stage) {
  std::vector<uint32_t> order(stage.streams.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t left, uint32_t right) {
    auto place = [&](uint32_t stream) {
      return std::tuple(stream != stage.computeStream,
                        getPlace(stage.streams[stream].kind), stream);
    };
    return place(left) < place(right);
  });
  return order;
}

std::vector<std::vector<uint32_t>> makeLanes(llvm::ArrayRef<TaskSpan> tasks) {
  std::vector<uint32_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](uint32_t left, uint32_t right) {
    return std::pair(tasks[left].start, left) <
           std::pair(tasks[right].start, right);
  });
  std::vector<std::vector<uint32_t>> lanes;
  for (uint32_t task : order) {
    auto lane = llvm::find_if(lanes, [&](llvm::ArrayRef<uint32_t> taken) {
      return tasks[taken.back()].end <= tasks[task].start;
    });
    if (lane == lanes.end())
      lanes.push_back({task});
    else
      lanes[lane - lanes.begin()].push_back(task);
  }
  return lanes;
}

llvm::StringRef getSpanName(const Activity &activity) {
  const bool isNamed = activity.category == Category::Kernel;
  return isNamed || activity.kind.empty() ? activity.name : activity.kind;
}

std::string getShape(const TensorShape &shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << getName(shape.type) << '[';
  llvm::interleave(shape.dims, os, ",");
  os << ']';
  return text;
}

std::string getShapes(const Activity &activity) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printShapes(os, activity.inputs);
  if (!activity.outputs.empty()) {
    os << (activity.inputs.empty() ? "-> " : " -> ");
    printShapes(os, activity.outputs);
  }
  return text;
}

std::vector<MemoryLevel> getMemoryLevels(const StepTimeline &timeline,
                                         const StageTimeline &stage) {
  std::vector<MemoryLevel> levels;
  auto add = [&](Nanoseconds time, int64_t bytes) {
    if (levels.empty() || levels.back().bytes != bytes)
      levels.push_back({time, bytes});
  };
  for (size_t first = 0, next; first < stage.memory.size(); first = next) {
    const Nanoseconds time = toNanoseconds(stage.memory[first].time);
    int64_t highest = stage.memory[first].bytes;
    for (next = first + 1; next < stage.memory.size() &&
                           toNanoseconds(stage.memory[next].time) == time;
         ++next)
      highest = std::max(highest, stage.memory[next].bytes);
    add(time, highest);
    add(time, stage.memory[next - 1].bytes);
  }
  const Nanoseconds end = toNanoseconds(timeline.seconds);
  if (!levels.empty() && levels.back().time < end)
    levels.push_back({end, levels.back().bytes});
  return levels;
}

} // namespace mf::timeline
