//===- Clock.cpp - Times as traces and profiles write them ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Clock.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

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

} // namespace mf::timeline
