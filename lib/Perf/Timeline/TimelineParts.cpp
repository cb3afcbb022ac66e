//===- TimelineParts.cpp - Shared code of traces and profiles -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TimelineParts.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace mf::timeline {

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
