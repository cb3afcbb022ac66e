//===- DeviceTasks.cpp - A step in the form of a device's profile ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileFiles.h"
#include "mf/Program/Signatures/Collective.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <tuple>

using llvm::StringRef;

namespace mf::timeline {

namespace {

/// Returns the intervals in which the device is idle, by their ends. Only a
/// receive that begins at such an end can have been waited for, because all
/// other work of the device that its stream might wait for is over.
std::vector<Interval<Nanoseconds>> getIdleTimes(const StageTimeline &stage) {
  std::vector<Interval<Nanoseconds>> busy;
  for (const StreamTimeline &stream : stage.streams)
    for (const Span &span : stream.spans)
      busy.push_back({toNanoseconds(span.start), toNanoseconds(span.end)});
  const Intervals<Nanoseconds> united(std::move(busy));
  std::vector<Interval<Nanoseconds>> idle;
  Nanoseconds last = 0;
  for (const Interval<Nanoseconds> &interval : united.get()) {
    if (interval.start > last)
      idle.push_back({last, interval.start});
    last = interval.end;
  }
  return idle;
}

Intervals<Nanoseconds>
collect(llvm::ArrayRef<DeviceTask> tasks,
        llvm::function_ref<bool(const DeviceTask &)> isIncluded) {
  std::vector<Interval<Nanoseconds>> intervals;
  for (const DeviceTask &task : tasks)
    if (isIncluded(task))
      intervals.push_back({task.start, task.end});
  return Intervals<Nanoseconds>(std::move(intervals));
}

} // namespace

bool DeviceTask::isCommunication() const {
  switch (activity->category) {
  case Category::Collective:
  case Category::Send:
  case Category::Receive:
    return true;
  case Category::Kernel:
    return activity->engine == Engine::Communication;
  case Category::CopyToHost:
  case Category::CopyToDevice:
    return false;
  }
  llvm_unreachable("covers all categories");
}

bool DeviceTask::isCopy() const {
  return activity->category == Category::CopyToHost ||
         activity->category == Category::CopyToDevice;
}

DeviceTasks::DeviceTasks(const StepTimeline &timeline,
                         const StageTimeline &stage)
    : step(toNanoseconds(timeline.seconds)) {
  const std::vector<Interval<Nanoseconds>> idle = getIdleTimes(stage);
  auto getWaitBegin = [&](Nanoseconds start) {
    const auto *found =
        llvm::lower_bound(llvm::ArrayRef(idle), start,
                          [](const Interval<Nanoseconds> &left,
                             Nanoseconds time) { return left.end < time; });
    return found != idle.data() + idle.size() && found->end == start
               ? found->start
               : start;
  };
  for (uint32_t stream = 0; stream < stage.streams.size(); ++stream) {
    Nanoseconds last = 0;
    for (const Span &span : stage.streams[stream].spans) {
      DeviceTask task;
      task.activity = &timeline.activities[span.activity];
      task.stream = stream;
      task.transferStart = task.start = toNanoseconds(span.start);
      task.end = toNanoseconds(span.end);
      if (task.activity->category == Category::Receive)
        task.start = getWaitBegin(task.start);
      task.wait = std::max<Nanoseconds>(0, task.start - last);
      last = task.end;
      tasks.push_back(task);
    }
  }
  llvm::sort(tasks, [](const DeviceTask &left, const DeviceTask &right) {
    return std::tie(left.start, left.stream, left.end) <
           std::tie(right.start, right.stream, right.end);
  });
  for (const DeviceTask &task : tasks)
    step = std::max(step, task.end);
  computing =
      collect(tasks, [](const DeviceTask &task) { return task.isComputing(); });
  communication = collect(
      tasks, [](const DeviceTask &task) { return task.isCommunication(); });
  receiving = collect(tasks, [](const DeviceTask &task) {
    return task.activity->category == Category::Receive;
  });
  exposedCommunication = communication.subtract(computing);
  free = Intervals<Nanoseconds>({{0, step}})
             .subtract(computing)
             .subtract(communication);
}

StringRef getAcceleratorCore(const Activity &activity) {
  if (activity.category != Category::Kernel)
    return "COMMUNICATION";
  // Attention computes on cube and vector units together.
  if (StringRef(activity.kind).starts_with("attention"))
    return "MIX_AIC";
  switch (activity.engine) {
  case Engine::Cube:
    return "AI_CORE";
  case Engine::Vector:
  case Engine::Copy:
    return "AI_VECTOR_CORE";
  case Engine::Communication:
    return "COMMUNICATION";
  }
  llvm_unreachable("covers all engines");
}

std::string getOperatorType(const Activity &activity) {
  if (activity.category == Category::Kernel)
    return activity.name;
  return "hcom_" +
         llvm::convertToCamelFromSnakeCase(activity.name,
                                           /*capitalizeFirst=*/false) +
         "_";
}

double getSentBytes(const Activity &activity) {
  const auto bytes = static_cast<double>(activity.bytes);
  const auto members = static_cast<double>(activity.ranks.size());
  if (activity.category != Category::Collective || activity.ranks.empty())
    return bytes;
  // Each rank already has its own part, and sends or receives all others.
  const double allButOwn = bytes * (members - 1) / members;
  if (activity.name == getName(CollectiveKind::Broadcast))
    return bytes;
  // An all_reduce scatters and then gathers the bytes.
  if (activity.name == getName(CollectiveKind::AllReduce))
    return 2 * allButOwn;
  return allButOwn;
}

} // namespace mf::timeline
