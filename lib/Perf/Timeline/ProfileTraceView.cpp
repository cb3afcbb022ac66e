//===- ProfileTraceView.cpp - The trace in a profile ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The processes that MindSpore's profiler shows, in its order, as far as a
// timeline has data for them.
//
//===----------------------------------------------------------------------===//

#include "ProfileFiles.h"
#include "TraceEvents.h"
#include <map>

using llvm::StringRef;

namespace mf::timeline {

namespace {

/// The numbers of processes, which are their positions in the profiler's order.
enum ProcessNumber : int64_t {
  ScopeLayer = 4,
  AscendHardware = 5,
  Communication = 6,
  NpuMemory = 9,
  OverlapAnalysis = 10
};

class TraceViewPrinter {
public:
  TraceViewPrinter(const RankProfile &profile, llvm::raw_ostream &os)
      : profile(profile), events(os) {}

  void print() {
    addScopes();
    addStreams();
    addCommunication();
    addMemory();
    addOverlap();
    events.finish();
  }

private:
  void nameProcess(ProcessNumber number, StringRef name, StringRef label) {
    events.nameProcess(number, name, number, label);
  }

  void addScopes() {
    nameProcess(ScopeLayer, "Scope Layer", "CPU");
    const TaskNames names(profile.timeline);
    int64_t thread = 0;
    for (llvm::ArrayRef<uint32_t> lane : makeLanes(profile.stage.tasks)) {
      events.nameThread({ScopeLayer, thread}, "tasks", thread);
      for (uint32_t number : lane) {
        const TaskSpan &task = profile.stage.tasks[number];
        events.addSlice({ScopeLayer, thread}, toNanoseconds(task.start),
                        toNanoseconds(task.end), quoteJson(names.get(task)),
                        {});
      }
      ++thread;
    }
  }

  void addStreams() {
    nameProcess(AscendHardware, "Ascend Hardware", "NPU");
    for (uint32_t stream : getStreamOrder(profile.stage))
      events.nameThread({AscendHardware, stream},
                        "Stream " + std::to_string(stream) + " " +
                            profile.stage.streams[stream].name,
                        stream);
    for (size_t number = 0; number < profile.device.tasks.size(); ++number) {
      const DeviceTask &task = profile.device.tasks[number];
      const StringRef type =
          task.isCopy() ? "MEMCPY_ASYNC" : getAcceleratorCore(*task.activity);
      std::string args = "\"Model Id\":4294967295,\"Task Type\":\"" +
                         type.str() +
                         "\",\"Stream Id\":" + std::to_string(task.stream) +
                         ",\"Task Id\":" + std::to_string(number);
      if (task.isCopy())
        args += ",\"size(B)\":" + std::to_string(task.activity->bytes);
      events.addSlice({AscendHardware, task.stream}, task.start, task.end,
                      quoteJson(profile.names[number]), args);
    }
  }

  void addCommunication() {
    nameProcess(Communication, "Communication", "NPU");
    // Threads by communicator, in the order of names, and by stream, because
    // messages of several streams overlap.
    std::map<std::pair<StringRef, uint32_t>, int64_t> threads;
    const std::vector<DeviceTask> &tasks = profile.device.tasks;
    auto getKey = [&](size_t number) {
      return std::pair(StringRef(profile.groups[number]), tasks[number].stream);
    };
    for (size_t number = 0; number < tasks.size(); ++number)
      if (tasks[number].isCommunication())
        threads.try_emplace(getKey(number));
    int64_t next = 0;
    for (auto &[key, thread] : threads) {
      thread = next++;
      events.nameThread({Communication, thread},
                        "Group " + key.first.str() + " Communication", thread);
    }
    for (size_t number = 0; number < tasks.size(); ++number) {
      const DeviceTask &task = tasks[number];
      if (!task.isCommunication())
        continue;
      std::string args =
          "\"transport size(B)\":" + std::to_string(task.activity->bytes);
      events.addSlice({Communication, threads[getKey(number)]}, task.start,
                      task.end, quoteJson(profile.names[number]), args);
    }
  }

  void addMemory() {
    nameProcess(NpuMemory, "NPU MEM", "NPU");
    for (const MemoryLevel &level :
         getMemoryLevels(profile.timeline, profile.stage))
      events.addCounter(NpuMemory, level.time, "\"MindSpore\"", "\"B\"",
                        level.bytes);
  }

  void addOverlap() {
    nameProcess(OverlapAnalysis, "Overlap Analysis", "NPU");
    const DeviceTasks &device = profile.device;
    const std::pair<StringRef, const Intervals<Nanoseconds> *> threads[] = {
        {"Computing", &device.computing},
        {"Communication", &device.communication},
        {"Communication(Not Overlapped)", &device.exposedCommunication},
        {"Free", &device.free}};
    int64_t thread = 0;
    for (const auto &[name, intervals] : threads) {
      events.nameThread({OverlapAnalysis, thread}, name, thread);
      const std::string quoted = quoteJson(name);
      for (const Interval<Nanoseconds> &interval : intervals->get())
        events.addSlice({OverlapAnalysis, thread}, interval.start, interval.end,
                        quoted, {});
      ++thread;
    }
  }

  const RankProfile &profile;
  TraceEvents events;
};

} // namespace

void printTraceView(const RankProfile &profile, llvm::raw_ostream &os) {
  TraceViewPrinter(profile, os).print();
  os << '\n';
}

} // namespace mf::timeline
