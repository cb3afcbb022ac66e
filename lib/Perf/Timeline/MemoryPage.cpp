//===- MemoryPage.cpp - A step's memory as a page -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// JSON for lib/Perf/Timeline/page/arena.js:
//
//   {"program": "step.mlir", "target": "atlas-800t-a2",
//    "categories": ["parameter", ...],
//    "stages": [
//      {"stage": 0, "arena_bytes": ..., "host_bytes": ..., "live_bytes": ...,
//       "limit_bytes": ...,
//       "length": moments, "left_out": buffers that the map does not have,
//       "times": [moment, seconds, ...],
//       "calls": [begin, routine, micro-batch, ...],
//       "routines": ["chunk0.forward", ...],
//       "names": [name, category, on the host, instances, bytes, kept bytes,
//                 bytes that are computed again, ...],
//       "buffers": [name, begin, length, offset, bytes, micro-batch, ...],
//       "peak_moment": ..., "alive": [name, instances, bytes, ...]},
//      ...]}
//
// A limit is 0, and a micro-batch -1, if there is none. Moments are those of
// mf/Program/Liveness.h. `times`, for a simulation on `target`, maps some of
// them to times; both ascend. The `bytes` of a name are those of its largest
// instance. Kept bytes and recomputed bytes are those of the first micro-batch:
// residuals, and results of forward operators in backward (results of backward
// itself are named `.grad`). `alive` has the buffers that are alive at
// `peak_moment`, by name; their bytes are `live_bytes`.
//
//===----------------------------------------------------------------------===//

#include "mf/Perf/Timeline/MemoryPage.h"
#include "mf/Perf/Timeline/HtmlPage.h"
#include "mf/Program/Liveness.h"
#include "mf/Program/StepTasks.h"
#include "mf/Program/StepWalker.h"
#include "mf/Support/AtomicFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <map>
#include <set>

using namespace llvm;
using namespace mf::program;

namespace mf::timeline {

static constexpr StringLiteral memoryStyles[] = {"page.css", "arena.css"};
static constexpr StringLiteral memoryScripts[] = {"format.js", "drawing.js",
                                                  "arena.js", "buffers.js"};

/// The most buffers on the map of a stage, about 35 bytes each, and on all
/// maps.
static constexpr size_t mostOfStage = 12000, mostOfPage = 120000;

namespace {

/// All instances of the same name.
struct NamedBuffer {
  BufferCategory category = BufferCategory::Temporary;
  Space space = Space::Device;
  int64_t instances = 0;
  int64_t bytes = 0;
  int64_t keptBytes = 0;
  int64_t repeatedBytes = 0;
  unsigned number = 0;
};

class StageWriter {
public:
  /// `timeline` is null without a simulation.
  StageWriter(const StageProgram &stage, const StageTimeline *timeline,
              size_t mostBuffers, json::OStream &os)
      : stage(stage), timeline(timeline), mostBuffers(mostBuffers), os(os),
        table(stage), liveness(computeLiveness(stage)),
        lifetimes(computeLifetimes(stage, liveness)) {}

  /// Finds the tasks of the step. Must be called first.
  Error findStepTasks() {
    Expected<std::vector<StepTask>> found = findTasks(stage);
    if (!found)
      return found.takeError();
    tasks = std::move(*found);
    for (const StepTask &task : tasks)
      if (task.phase != schedule::Phase::Forward)
        for (uint32_t position : task.calls)
          backwards.insert(
              stage.step.getCall(stage.step.instructions[position])->routine);
    return Error::success();
  }

  void write() {
    collectNames();
    os.object([&] {
      os.attribute("stage", stage.stage);
      os.attribute("arena_bytes", stage.arenaBytes);
      os.attribute("host_bytes", stage.hostBytes);
      os.attribute("limit_bytes", stage.hbmLimitBytes.value_or(0));
      os.attribute("length", liveness.starts.back());
      if (timeline)
        writeTimes();
      writeCalls();
      writeNames();
      writeAlive();
      writeBuffers();
    });
  }

private:
  using Key = std::tuple<std::string, BufferCategory, Space>;

  Key getKey(const Lifetime &lifetime) const {
    const std::string name = table.getName(lifetime.instance);
    return {StringRef(name).split(" of micro-batch ").first.str(),
            lifetime.category, lifetime.space};
  }

  /// Returns the micro-batch to which the buffer belongs, or -1.
  int64_t getMicroBatch(const Lifetime &lifetime) const {
    const InstanceTable::Origin origin = table.getOrigin(lifetime.instance);
    if (origin.kind == BufferKind::Slot)
      return stage.frames[origin.frame].microBatch;
    if (origin.kind != BufferKind::Temporary)
      return -1;
    return stage.step.getCall(stage.step.instructions[origin.callPosition])
        ->microBatch.value_or(-1);
  }

  /// Returns whether the buffer is the result of an operator of forward that
  /// backward computes again.
  bool isRepeated(const Lifetime &lifetime) const {
    const InstanceTable::Origin origin = table.getOrigin(lifetime.instance);
    if (origin.kind != BufferKind::Temporary)
      return false;
    const Call &call =
        *stage.step.getCall(stage.step.instructions[origin.callPosition]);
    const std::string name = table.getName(lifetime.instance);
    return backwards.count(call.routine) > 0 &&
           StringRef(name).starts_with("result of '") &&
           !StringRef(name).ends_with(".grad'");
  }

  void collectNames() {
    for (const Lifetime &lifetime : lifetimes) {
      NamedBuffer &named = names[getKey(lifetime)];
      named.category = lifetime.category;
      named.space = lifetime.space;
      named.bytes = std::max(named.bytes, lifetime.bytes);
      ++named.instances;
      if (getMicroBatch(lifetime) != 0)
        continue;
      if (lifetime.kind == BufferKind::Slot)
        named.keptBytes += lifetime.bytes;
      else if (isRepeated(lifetime))
        named.repeatedBytes += lifetime.bytes;
    }
    for (auto [number, entry] : enumerate(names))
      entry.second.number = number;
  }

  /// Writes the begin and the end of each task. Time between tasks is a wait or
  /// the update.
  void writeTimes() {
    std::vector<std::pair<int64_t, double>> times = {{0, 0}};
    const auto findCall = [&](uint32_t position) {
      return lower_bound(liveness.calls, position) - liveness.calls.begin();
    };
    for (auto [task, span] : zip_equal(tasks, timeline->tasks)) {
      times.push_back(
          {liveness.starts[findCall(task.calls.front())], span.start});
      times.push_back(
          {liveness.starts[findCall(task.calls.back()) + 1], span.end});
    }
    // The parts of two tasks may alternate, so their times are not in order.
    sort(times);
    times.push_back({liveness.starts.back(), timeline->end});
    double last = 0;
    os.attributeArray("times", [&] {
      for (const auto &[moment, seconds] : times) {
        last = std::max(last, seconds);
        os.value(moment);
        os.value(last);
      }
    });
  }

  void writeCalls() {
    os.attributeArray("calls", [&] {
      for (auto [index, position] : enumerate(liveness.calls)) {
        const Call &call =
            *stage.step.getCall(stage.step.instructions[position]);
        os.value(liveness.starts[index]);
        os.value(call.routine);
        os.value(call.microBatch.value_or(-1));
      }
    });
    os.attributeArray("routines", [&] {
      for (const Routine &routine : stage.routines)
        os.value(json::fixUTF8(routine.name));
    });
  }

  void writeNames() {
    os.attributeArray("names", [&] {
      for (const auto &[key, named] : names) {
        os.value(json::fixUTF8(std::get<std::string>(key)));
        os.value(static_cast<int>(named.category));
        os.value(static_cast<int>(named.space == Space::Host));
        os.value(named.instances);
        os.value(named.bytes);
        os.value(named.keptBytes);
        os.value(named.repeatedBytes);
      }
    });
  }

  void writeAlive() {
    const MemoryUse peak = findPeak(lifetimes, Space::Device);
    os.attribute("live_bytes", peak.bytes);
    os.attribute("peak_moment", peak.time);
    struct Alive {
      int64_t instances = 0, bytes = 0;
    };
    std::map<unsigned, Alive> alive;
    for (const Lifetime &lifetime : lifetimes) {
      const bool isAlive =
          lifetime.kind == BufferKind::Static ||
          (lifetime.begin <= peak.time && peak.time < lifetime.end);
      if (lifetime.space != Space::Device || !isAlive)
        continue;
      Alive &named = alive[names.at(getKey(lifetime)).number];
      ++named.instances;
      named.bytes += lifetime.bytes;
    }
    os.attributeArray("alive", [&] {
      for (const auto &[number, named] : alive) {
        os.value(number);
        os.value(named.instances);
        os.value(named.bytes);
      }
    });
  }

  /// Writes the buffers with the largest product of size and lifetime, in
  /// descending order.
  void writeBuffers() {
    erase_if(lifetimes, [](const Lifetime &lifetime) {
      return lifetime.space == Space::Host || lifetime.bytes == 0;
    });
    auto getOrder = [](const Lifetime &lifetime) {
      const double area = static_cast<double>(lifetime.bytes) *
                          static_cast<double>(lifetime.end - lifetime.begin);
      return std::pair(-area, lifetime.instance);
    };
    sort(lifetimes, [&](const Lifetime &one, const Lifetime &other) {
      return getOrder(one) < getOrder(other);
    });
    const size_t count = std::min(lifetimes.size(), mostBuffers);
    os.attribute("left_out", static_cast<int64_t>(lifetimes.size() - count));
    os.attributeArray("buffers", [&] {
      for (const Lifetime &lifetime : ArrayRef(lifetimes).take_front(count)) {
        os.value(names.at(getKey(lifetime)).number);
        os.value(lifetime.begin);
        os.value(lifetime.end - lifetime.begin);
        os.value(lifetime.offset);
        os.value(lifetime.bytes);
        os.value(getMicroBatch(lifetime));
      }
    });
  }

  const StageProgram &stage;
  const StageTimeline *const timeline;
  const size_t mostBuffers;
  json::OStream &os;
  const InstanceTable table;
  const StepLiveness liveness;
  std::vector<Lifetime> lifetimes;
  std::map<Key, NamedBuffer> names;
  std::vector<StepTask> tasks;
  /// The routines of backwards.
  std::set<uint32_t> backwards;
};

} // namespace

Error writeMemoryPage(StringRef path, const Program &program, StringRef name,
                      const StepTimeline *timeline) {
  std::string text;
  raw_string_ostream stream(text);
  json::OStream os(stream);
  const size_t most = std::min(
      mostOfStage, mostOfPage / std::max<size_t>(program.stages.size(), 1));
  Error failure = Error::success();
  os.object([&] {
    os.attribute("program", json::fixUTF8(name));
    if (timeline)
      os.attribute("target", json::fixUTF8(timeline->target));
    os.attributeArray("categories", [&] {
      for (size_t i = 0; i < numCategories; ++i)
        os.value(getName(static_cast<BufferCategory>(i)));
    });
    os.attributeArray("stages", [&] {
      for (auto [number, stage] : enumerate(program.stages)) {
        StageWriter writer(
            stage, timeline ? &timeline->stages[number] : nullptr, most, os);
        failure = joinErrors(std::move(failure), writer.findStepTasks());
        writer.write();
      }
    });
  });
  if (failure)
    return failure;
  const std::string title =
      (sys::path::filename(name) + ": memory of a step").str();
  return writeFileAtomically(
      path, makePage({title, "arena.html", memoryStyles, memoryScripts}, text));
}

} // namespace mf::timeline
