//===- PageData.cpp - The data of a page about a step ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PageData.h"
#include "Gaps.h"
#include "Numbers.h"
#include "PageBlocks.h"
#include "StepLimits.h"
#include "mf/Perf/Timeline/Writers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <cmath>
#include <functional>

using namespace llvm;

namespace mf::timeline {

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

  void print();

private:
  void printWords();
  void printStage(const StageTimeline &stage, ArrayRef<Gap> stageGaps);
  void printTasks(const StageTimeline &stage);
  void printGaps(ArrayRef<Gap> stageGaps);
  void printMemory(const StageTimeline &stage);
  void printStream(const StreamTimeline &stream);
  void printActivities();

  int64_t getTicks(double seconds) const {
    return std::llround(seconds / tick);
  }
  size_t countSpans() const;

  const StepTimeline &timeline;
  json::OStream &json;
  const double resolution;
  const std::vector<std::vector<Gap>> gaps;
  double tick = 1;
  /// Activities of blocks, by their numbers in the timeline.
  MapVector<uint32_t, unsigned> activities;
};

void DataPrinter::print() {
  json.object([&] {
    json.attribute("program", json::fixUTF8(timeline.program));
    json.attributeObject("report", [&] { writeReportMembers(timeline, json); });
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

void DataPrinter::printWords() {
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

void DataPrinter::printStage(const StageTimeline &stage,
                             ArrayRef<Gap> stageGaps) {
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

void DataPrinter::printTasks(const StageTimeline &stage) {
  for (const TaskSpan &task : stage.tasks) {
    json.value(std::string(1, schedule::getLetter(task.phase)));
    json.value(task.chunk);
    json.value(task.microBatch);
    json.value(getTicks(task.start));
    json.value(getTicks(task.end) - getTicks(task.start));
  }
}

void DataPrinter::printGaps(ArrayRef<Gap> stageGaps) {
  int64_t last = 0;
  for (const Gap &gap : stageGaps) {
    json.value(static_cast<int>(gap.cause));
    json.value(getTicks(gap.start) - last);
    json.value(getTicks(gap.end) - getTicks(gap.start));
    last = getTicks(gap.end);
  }
}

void DataPrinter::printMemory(const StageTimeline &stage) {
  int64_t last = 0;
  for (const MemoryPoint &point :
       thinOut(stage.memory, timeline.seconds, mostMemoryPoints)) {
    json.value(getTicks(point.time) - last);
    json.value(point.bytes);
    last = getTicks(point.time);
  }
}

void DataPrinter::printStream(const StreamTimeline &stream) {
  int64_t last = 0, task = -1;
  for (const PageBlock &block : joinSpans(stream.spans, resolution)) {
    const unsigned activity =
        activities.try_emplace(block.activity, activities.size()).first->second;
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
void DataPrinter::printActivities() {
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

size_t DataPrinter::countSpans() const {
  size_t count = 0;
  for (const StageTimeline &stage : timeline.stages)
    for (const StreamTimeline &stream : stage.streams)
      count += stream.spans.size();
  return count;
}

} // namespace

std::string makePageData(const StepTimeline &timeline) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream json(stream);
  DataPrinter(timeline, json).print();
  return text;
}

} // namespace mf::timeline
