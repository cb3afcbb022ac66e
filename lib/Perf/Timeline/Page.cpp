//===- Page.cpp - A step in time as a page --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Gaps.h"
#include "StepLimits.h"
#include "TimelineText.h"
#include "mf/Perf/Timeline/HtmlPage.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace llvm;

namespace mf::timeline {

//===----------------------------------------------------------------------===//
// JSON for the scripts of lib/Perf/Timeline/page, in as few bytes as is simple:
//
//   {"program": "step.mlir",
//    "report": {...},              // as in Writers.h, without `program`
//    "limits": "the step is limited by ...",
//    "path": [["matmul", seconds], ...],     // the critical path in words
//    "gains": ["10 % more of ...", ...],
//    "tick": 1e-7,                 // seconds of a unit of time below
//    "resolution": 0.001,          // seconds; of joined spans, 0 if none are
//    "spans": 123456,              // of the step; blocks may be fewer
//    "names": ["aclnnMatmul", ...],
//    "activities": [[name, kind, cell, category, engine], ...],
//    "stages": [
//      {"tasks": [phase, chunk, micro-batch, start, length, ...],
//       "gaps": [cause, gap, length, ...],
//       "memory": [time, bytes, ...],
//       "streams": [{"name": "compute", "blocks":
//           [gap, length, activity, task, spans, idle, ...]}, ...]}, ...]}
//
// Categories, engines and causes are the values of their enumerations. `gap` is
// the time since the end of the previous entry, `time` is relative to the
// previous point, and `task` is the difference from that of the previous block.
// Names, kinds and cells are indices into `names`, phases are letters (F, B, I,
// W). Gaps are the longest ones of Gaps.h.
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// A step may have millions of spans, but a page only shows as many as fit a
// screen. Short spans are merged with their neighbours, as few as possible
// within a limit.
//===----------------------------------------------------------------------===//

namespace {

/// Spans of a stream and of one task that follow one another.
struct PageBlock {
  double start = 0;
  double end = 0;
  /// The activity of the longest of its spans.
  uint32_t activity = 0;
  int32_t task = -1;
  uint32_t spans = 1;
  /// Seconds between its spans.
  double idle = 0;
};

/// Calls a function for each range of spans that is joined.
template <typename Function>
void forEachBlock(const std::vector<Span> &spans, double resolution,
                  Function function) {
  for (size_t begin = 0; begin < spans.size();) {
    size_t end = begin + 1;
    while (end < spans.size() && spans[end].task == spans[begin].task &&
           spans[end].end - spans[begin].start <= resolution)
      ++end;
    function(begin, end);
    begin = end;
  }
}

size_t countBlocks(const StepTimeline &timeline, double resolution) {
  size_t count = 0;
  for (const StageTimeline &stage : timeline.stages)
    for (const StreamTimeline &stream : stage.streams)
      forEachBlock(stream.spans, resolution, [&](size_t, size_t) { ++count; });
  return count;
}

/// Returns the activity that takes longest, or the first of several.
uint32_t findMainActivity(const std::vector<Span> &spans, size_t begin,
                          size_t end) {
  std::map<uint32_t, double> seconds;
  for (size_t i = begin; i < end; ++i)
    seconds[spans[i].activity] += spans[i].end - spans[i].start;
  return std::max_element(
             seconds.begin(), seconds.end(),
             [](const auto &a, const auto &b) { return a.second < b.second; })
      ->first;
}

} // namespace

/// Joins spans as long as blocks of several are not longer than `resolution`.
static std::vector<PageBlock> joinSpans(const std::vector<Span> &spans,
                                        double resolution) {
  std::vector<PageBlock> blocks;
  forEachBlock(spans, resolution, [&](size_t begin, size_t end) {
    double idle = 0;
    for (size_t i = begin + 1; i < end; ++i)
      idle += spans[i].start - spans[i - 1].end;
    blocks.push_back({spans[begin].start, spans[end - 1].end,
                      findMainActivity(spans, begin, end), spans[begin].task,
                      static_cast<uint32_t>(end - begin), idle});
  });
  return blocks;
}

/// Returns the finest of the tried resolutions with which the streams of all
/// stages have at most `limit` blocks; 0 if they have at most `limit` spans.
/// Blocks of different tasks are not joined, so any resolution can exceed the
/// limit.
static double findResolution(const StepTimeline &timeline, size_t limit) {
  size_t spans = 0, streams = 0;
  for (const StageTimeline &stage : timeline.stages) {
    streams += stage.streams.size();
    for (const StreamTimeline &stream : stage.streams)
      spans += stream.spans.size();
  }
  if (spans <= limit)
    return 0;
  // Two adjacent blocks of one task are longer than the resolution, which
  // therefore need not be much coarser than this.
  double resolution = timeline.seconds * static_cast<double>(streams) /
                      static_cast<double>(limit) / 64;
  while (resolution < timeline.seconds &&
         countBlocks(timeline, resolution) > limit)
    resolution *= 1.5;
  return resolution;
}

/// Returns a curve of at most about `limit` points with the same maximum. The
/// step is divided into equal parts, and the highest and the last point of each
/// are kept.
static std::vector<MemoryPoint> thinOut(const std::vector<MemoryPoint> &points,
                                        double seconds, size_t limit) {
  if (points.size() <= limit || seconds <= 0)
    return points;
  const double width = 2 * seconds / static_cast<double>(limit);
  std::vector<MemoryPoint> result;
  for (size_t begin = 0; begin < points.size();) {
    const double stop = (std::floor(points[begin].time / width) + 1) * width;
    size_t end = begin + 1, highest = begin;
    for (; end < points.size() && points[end].time < stop; ++end)
      if (points[end].bytes > points[highest].bytes)
        highest = end;
    result.push_back(points[highest]);
    if (highest + 1 < end)
      result.push_back(points[end - 1]);
    begin = end;
  }
  return result;
}

namespace {

/// The largest number of blocks, which is about 5 MB of text.
constexpr size_t mostBlocks = 250000;
/// The most points of memory for each stage.
constexpr size_t mostMemoryPoints = 4000;
/// The number of gaps of all stages that are kept; the longest ones.
constexpr size_t mostGaps = 40000;
/// The least number of ticks in a step.
constexpr double fewestTicks = 1e8;

/// Assigns indices to texts in the order of their first use.
class Names {
public:
  unsigned find(StringRef text) {
    auto [entry, isNew] = numbers.try_emplace(text, numbers.size());
    if (isNew)
      list.push_back(entry->getKey());
    return entry->second;
  }
  ArrayRef<StringRef> get() const { return list; }

private:
  StringMap<unsigned> numbers;
  std::vector<StringRef> list;
};

/// Returns the gaps of each stage. If there are more than `limit`, the shortest
/// are left out; gaps of equal length are all kept or all left out.
std::vector<std::vector<Gap>> findLongestGaps(const StepTimeline &timeline,
                                              size_t limit) {
  std::vector<std::vector<Gap>> gaps;
  std::vector<double> lengths;
  for (const StageTimeline &stage : timeline.stages) {
    gaps.push_back(findGaps(timeline, stage));
    for (const Gap &gap : gaps.back())
      lengths.push_back(gap.end - gap.start);
  }
  if (lengths.size() <= limit)
    return gaps;
  auto shortest = lengths.begin() + static_cast<ptrdiff_t>(limit);
  std::nth_element(lengths.begin(), shortest, lengths.end(),
                   std::greater<double>());
  for (std::vector<Gap> &stage : gaps)
    erase_if(stage,
             [&](const Gap &gap) { return gap.end - gap.start <= *shortest; });
  return gaps;
}

class DataPrinter {
public:
  DataPrinter(const StepTimeline &timeline, json::OStream &json)
      : timeline(timeline), json(json),
        resolution(findResolution(timeline, mostBlocks)),
        gaps(findLongestGaps(timeline, mostGaps)) {
    if (timeline.seconds > 0)
      tick =
          std::pow(10, std::floor(std::log10(timeline.seconds / fewestTicks)));
  }

  void print() {
    json.object([&] {
      json.attribute("program", json::fixUTF8(timeline.program));
      json.attributeObject("report",
                           [&] { writeReportMembers(timeline, json); });
      printWords();
      addNumber(json, "tick", tick);
      addNumber(json, "resolution", resolution);
      json.attribute("spans", countSpans());
      json.attributeArray("stages", [&] {
        for (size_t i = 0; i < timeline.stages.size(); ++i)
          json.object([&] { printStage(timeline.stages[i], gaps[i]); });
      });
      printActivities();
    });
  }

private:
  void printWords() {
    json.attribute("limits", json::fixUTF8(describeLimits(timeline)));
    json.attributeArray("path", [&] {
      for (const CriticalShare &limit : getLimits(timeline))
        json.array([&] {
          json.value(json::fixUTF8(limit.kind));
          json.rawValue(formatJsonNumber(limit.seconds));
        });
    });
    json.attributeArray("gains", [&] {
      for (const Gain &gain : getGains(timeline))
        json.value(json::fixUTF8(describe(gain)));
    });
  }

  void printStage(const StageTimeline &stage, ArrayRef<Gap> stageGaps) {
    json.attributeArray("tasks", [&] { printTasks(stage); });
    json.attributeArray("gaps", [&] { printGaps(stageGaps); });
    json.attributeArray("memory", [&] { printMemory(stage); });
    json.attributeArray("streams", [&] {
      for (const StreamTimeline &stream : stage.streams)
        json.object([&] {
          json.attribute("name", json::fixUTF8(stream.name));
          json.attributeArray("blocks", [&] { printStream(stream); });
        });
    });
  }

  void printTasks(const StageTimeline &stage) {
    for (const TaskSpan &task : stage.tasks) {
      json.value(std::string(1, schedule::getLetter(task.phase)));
      json.value(task.chunk);
      json.value(task.microBatch);
      json.value(getTicks(task.start));
      json.value(getTicks(task.end) - getTicks(task.start));
    }
  }

  void printGaps(ArrayRef<Gap> stageGaps) {
    int64_t last = 0;
    for (const Gap &gap : stageGaps) {
      json.value(static_cast<int>(gap.cause));
      json.value(getTicks(gap.start) - last);
      json.value(getTicks(gap.end) - getTicks(gap.start));
      last = getTicks(gap.end);
    }
  }

  void printMemory(const StageTimeline &stage) {
    int64_t last = 0;
    for (const MemoryPoint &point :
         thinOut(stage.memory, timeline.seconds, mostMemoryPoints)) {
      json.value(getTicks(point.time) - last);
      json.value(point.bytes);
      last = getTicks(point.time);
    }
  }

  void printStream(const StreamTimeline &stream) {
    int64_t last = 0, task = -1;
    for (const PageBlock &block : joinSpans(stream.spans, resolution)) {
      const unsigned activity =
          activities.try_emplace(block.activity, activities.size())
              .first->second;
      json.value(getTicks(block.start) - last);
      json.value(getTicks(block.end) - getTicks(block.start));
      json.value(activity);
      json.value(block.task - task);
      json.value(block.spans);
      json.value(getTicks(block.idle));
      last = getTicks(block.end);
      task = block.task;
    }
  }

  /// Must be called after all streams, which determine the activities that are
  /// needed.
  void printActivities() {
    Names names;
    json.attributeArray("activities", [&] {
      for (const auto &entry : activities)
        json.array([&] {
          const Activity &activity = timeline.activities[entry.first];
          json.value(names.find(activity.name));
          json.value(names.find(activity.kind));
          json.value(names.find(activity.cell));
          json.value(static_cast<int>(activity.category));
          json.value(static_cast<int>(activity.engine));
        });
    });
    json.attributeArray("names", [&] {
      for (StringRef name : names.get())
        json.value(json::fixUTF8(name));
    });
  }

  int64_t getTicks(double seconds) const {
    return std::llround(seconds / tick);
  }

  size_t countSpans() const {
    size_t count = 0;
    for (const StageTimeline &stage : timeline.stages)
      for (const StreamTimeline &stream : stage.streams)
        count += stream.spans.size();
    return count;
  }

  const StepTimeline &timeline;
  json::OStream &json;
  const double resolution;
  const std::vector<std::vector<Gap>> gaps;
  double tick = 1;
  /// Activities of blocks, by their numbers in the timeline.
  MapVector<uint32_t, unsigned> activities;
};

} // namespace

static std::string makePageData(const StepTimeline &timeline) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream json(stream);
  DataPrinter(timeline, json).print();
  return text;
}

static constexpr StringLiteral stepStyles[] = {"page.css"};
static constexpr StringLiteral stepScripts[] = {
    "data.js",     "format.js", "drawing.js", "lanes.js",
    "timeline.js", "memory.js", "summary.js", "main.js"};

Error writePage(StringRef path, const StepTimeline &timeline) {
  const std::string title =
      (sys::path::filename(timeline.program) + ": a training step in time")
          .str();
  return writeFileAtomically(
      path, makePage({title, "step.html", stepStyles, stepScripts},
                     makePageData(timeline)));
}

} // namespace mf::timeline
