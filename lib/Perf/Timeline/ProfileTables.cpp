//===- ProfileTables.cpp - The tables of a profile ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>

using llvm::raw_ostream;
using llvm::StringRef;

namespace mf::timeline {

namespace {

/// Returns the name of an element type in CANN's files.
StringRef getTypeName(DType type) {
  switch (type) {
  case DType::F32:
    return "FLOAT";
  case DType::BF16:
    return "DT_BF16";
  case DType::F16:
    return "FLOAT16";
  case DType::I32:
    return "INT32";
  case DType::I64:
    return "INT64";
  case DType::I1:
    return "UINT8";
  }
  llvm_unreachable("covers all types");
}

/// Prints shapes, element types and formats in three columns:
/// `"2,4;4",FLOAT;INT32,ND;ND`.
void printOperands(raw_ostream &os, llvm::ArrayRef<TensorShape> operands) {
  if (operands.empty()) {
    os << "N/A,N/A,N/A";
    return;
  }
  os << '"';
  llvm::interleave(
      operands, os,
      [&](const TensorShape &shape) { llvm::interleave(shape.dims, os, ","); },
      ";");
  os << "\",";
  llvm::interleave(
      operands, os,
      [&](const TensorShape &shape) { os << getTypeName(shape.type); }, ";");
  os << ',';
  llvm::interleave(operands, os, [&](const TensorShape &) { os << "ND"; }, ";");
}

/// Times of all tasks of a type.
struct TypeTimes {
  int64_t count = 0;
  Nanoseconds total = 0;
  Nanoseconds shortest = 0;
  Nanoseconds longest = 0;

  void add(Nanoseconds time) {
    shortest = count == 0 ? time : std::min(shortest, time);
    longest = std::max(longest, time);
    total += time;
    ++count;
  }
};

} // namespace

void printKernelDetails(const RankProfile &profile, raw_ostream &os) {
  os << "Step ID,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,"
        "Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,"
        "Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,"
        "Input Formats,Output Shapes,Output Data Types,Output Formats,"
        "Context ID\n";
  for (const auto &[number, task] : llvm::enumerate(profile.device.tasks)) {
    if (task.isCopy())
      continue;
    const Activity &activity = *task.activity;
    // This model number says that kernels are launched one by one.
    os << profiledStep << ',' << profile.stage.rank << ",4294967295," << number
       << ',' << task.stream << ',';
    printCsvText(os, profile.names[number]);
    os << ',';
    printCsvText(os, getOperatorType(activity));
    os << ",static," << getAcceleratorCore(activity) << ',';
    printPaddedMicroseconds(os, task.start);
    os << ',';
    printPaddedMicroseconds(os, task.end - task.start);
    os << ',';
    printPaddedMicroseconds(os, task.wait);
    // The distribution of a kernel over cores is not known.
    os << ",0,0,NO,";
    printOperands(os, activity.inputs);
    os << ',';
    printOperands(os, activity.outputs);
    os << ",N/A\n";
  }
}

void printOperatorStatistic(const RankProfile &profile, raw_ostream &os) {
  std::map<std::pair<std::string, StringRef>, TypeTimes> times;
  Nanoseconds total = 0;
  for (const DeviceTask &task : profile.device.tasks) {
    if (task.isCopy())
      continue;
    times[{getOperatorType(*task.activity), getAcceleratorCore(*task.activity)}]
        .add(task.end - task.start);
    total += task.end - task.start;
  }
  std::vector<decltype(times)::const_pointer> order;
  for (const auto &entry : times)
    order.push_back(&entry);
  llvm::sort(order, [](const auto *left, const auto *right) {
    return std::tie(right->second.total, left->first) <
           std::tie(left->second.total, right->first);
  });
  os << "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),"
        "Avg Time(us),Max Time(us),Ratio(%)\n";
  for (const auto *entry : order) {
    const TypeTimes &type = entry->second;
    os << profile.stage.rank << ',';
    printCsvText(os, entry->first.first);
    os << ',' << entry->first.second << ',' << type.count;
    for (Nanoseconds time :
         {type.total, type.shortest, type.total / type.count, type.longest}) {
      os << ',';
      printPaddedMicroseconds(os, time);
    }
    os << ',';
    // In thousandths of a percent, a share has as many decimals as microseconds
    // have for nanoseconds.
    const double share =
        total > 0 ? static_cast<double>(type.total) / static_cast<double>(total)
                  : 0;
    printPaddedMicroseconds(os, toNanoseconds(share * 1e-4));
    os << '\n';
  }
}

void printStepTraceTime(const RankProfile &profile, raw_ostream &os) {
  os << "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,"
        "Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n";
  const DeviceTasks &device = profile.device;
  const Nanoseconds communication = device.communication.getLength();
  const Nanoseconds exposed = device.exposedCommunication.getLength();
  const Nanoseconds bubble = device.receiving.getLength();
  const Nanoseconds preparing =
      device.tasks.empty() ? device.step : device.tasks.front().start;
  os << profile.stage.rank << ',' << profiledStep;
  for (Nanoseconds time :
       {device.computing.getLength(), exposed, communication - exposed,
        communication, device.free.getLength(), device.step - bubble, bubble,
        device.exposedCommunication.subtract(device.receiving).getLength(),
        preparing}) {
    os << ',';
    printPaddedMicroseconds(os, time);
  }
  os << '\n';
}

//===----------------------------------------------------------------------===//
// Collectives and messages in a profile
//===----------------------------------------------------------------------===//

namespace {

class CommunicationPrinter {
public:
  CommunicationPrinter(const RankProfile &profile, llvm::raw_ostream &os)
      : profile(profile), json(os) {}

  void print() {
    json.object([&] {
      json.attributeObject("step" + std::to_string(profiledStep), [&] {
        json.attributeObject("p2p", [&] { printTasks(false); });
        json.attributeObject("collective", [&] { printTasks(true); });
      });
    });
  }

private:
  void printTasks(bool isCollective) {
    for (size_t number = 0; number < profile.device.tasks.size(); ++number) {
      const DeviceTask &task = profile.device.tasks[number];
      const Activity &activity = *task.activity;
      if (!task.isCommunication() ||
          (activity.category == Category::Collective) != isCollective)
        continue;
      json.attributeObject(llvm::json::fixUTF8(profile.names[number] + "@" +
                                               profile.groups[number]),
                           [&] {
                             printTimes(task.start, task.end - task.start,
                                        task.transferStart - task.start);
                             printBandwidth(activity,
                                            task.end - task.transferStart);
                           });
    }
  }

  void printTimes(Nanoseconds start, Nanoseconds elapsed, Nanoseconds wait) {
    json.attributeObject("Communication Time Info", [&] {
      std::string text;
      llvm::raw_string_ostream os(text);
      printPaddedMicroseconds(os, start);
      json.attributeBegin("Start Timestamp(us)");
      json.rawValue(text);
      json.attributeEnd();
      addMilliseconds("Elapse Time(ms)", elapsed);
      addMilliseconds("Transit Time(ms)", elapsed - wait);
      addMilliseconds("Wait Time(ms)", wait);
      addMilliseconds("Synchronization Time(ms)", wait);
      addMilliseconds("Idle Time(ms)", 0);
      const double ratio =
          elapsed > 0 ? static_cast<double>(wait) / static_cast<double>(elapsed)
                      : 0;
      addNumber("Wait Time Ratio", ratio);
      addNumber("Synchronization Time Ratio", ratio);
    });
  }

  void printBandwidth(const Activity &activity, Nanoseconds time) {
    json.attributeObject("Communication Bandwidth Info", [&] {
      // If there are several networks, their shares of the bytes are not known,
      // so they count as one.
      const std::string networks =
          activity.networks.empty()
              ? "UNKNOWN"
              : StringRef(llvm::join(activity.networks, "+")).upper();
      json.attributeObject(llvm::json::fixUTF8(networks), [&] {
        const double bytes = getSentBytes(activity);
        addNumber("Transit Size(MB)", bytes / 1e6);
        addMilliseconds("Transit Time(ms)", time);
        addNumber("Bandwidth(GB/s)",
                  time > 0 ? bytes / static_cast<double>(time) : 0);
      });
    });
  }

  void addMilliseconds(StringRef key, Nanoseconds time) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printPaddedMilliseconds(os, time);
    json.attributeBegin(key);
    json.rawValue(text);
    json.attributeEnd();
  }

  void addNumber(StringRef key, double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6f", value);
    json.attributeBegin(key);
    json.rawValue(text);
    json.attributeEnd();
  }

  const RankProfile &profile;
  llvm::json::OStream json;
};

} // namespace

void printCommunication(const RankProfile &profile, llvm::raw_ostream &os) {
  CommunicationPrinter(profile, os).print();
  os << '\n';
}

void printMetadata(const RankProfile &profile, llvm::raw_ostream &os) {
  llvm::json::OStream json(os);
  const StepTimeline &timeline = profile.timeline;
  json.object([&] {
    // The profiler does not have this, but times of a simulation depend on it.
    if (timeline.isSimulated)
      json.attributeObject("compilation", [&] {
        json.attribute("jit_level", timeline.graphKernelFusion ? "O1" : "O0");
        json.attribute("filled_rows", timeline.filledRows);
      });
    json.attributeObject("parallel_group_info", [&] {
      for (const auto &entry : profile.groupRanks) {
        const std::string name = llvm::json::fixUTF8(entry.first);
        json.attributeObject(name, [&] {
          json.attribute("group_name", name);
          json.attribute("rank_size", entry.second.size());
          json.attribute("global_ranks", llvm::json::Array(entry.second));
        });
      }
    });
  });
  os << '\n';
}

//===----------------------------------------------------------------------===//
// Memory in a profile
//===----------------------------------------------------------------------===//

namespace {

/// Prints bytes in units of 2^`exponent` exactly. Few digits are needed.
void printScaled(raw_ostream &os, int64_t bytes, int exponent) {
  char digits[64];
  const auto result =
      std::to_chars(std::begin(digits), std::end(digits),
                    std::ldexp(static_cast<double>(bytes), -exponent),
                    std::chars_format::fixed);
  os.write(digits, result.ptr - digits);
}

void printMegabytes(raw_ostream &os, int64_t bytes) {
  printScaled(os, bytes, 20);
}

/// A rise of the level, with the interval of the allocation.
struct Allocation {
  int64_t bytes = 0;
  Nanoseconds start = 0;
  std::optional<Nanoseconds> end;
  /// The levels after the rise, and after the fall that ends it.
  int64_t levelAtStart = 0;
  int64_t levelAtEnd = 0;
};

std::vector<Allocation> getAllocations(const StageTimeline &stage) {
  std::vector<Allocation> allocations;
  // The allocations that have not ended, by size.
  std::map<int64_t, std::deque<size_t>> open;
  int64_t level = 0;
  for (const MemoryPoint &point : stage.memory) {
    const int64_t bytes = point.bytes - level;
    level = point.bytes;
    if (bytes > 0) {
      open[bytes].push_back(allocations.size());
      allocations.push_back(
          {bytes, toNanoseconds(point.time), std::nullopt, level, 0});
    } else if (bytes < 0) {
      auto same = open.find(-bytes);
      if (same == open.end() || same->second.empty())
        continue;
      Allocation &allocation = allocations[same->second.front()];
      same->second.pop_front();
      allocation.end = toNanoseconds(point.time);
      allocation.levelAtEnd = level;
    }
  }
  return allocations;
}

} // namespace

void printMemoryRecord(const RankProfile &profile, raw_ostream &os) {
  os << "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),"
        "Total Active(MB),Device Type\n";
  for (const MemoryLevel &level :
       getMemoryLevels(profile.timeline, profile.stage)) {
    os << "MindSpore,";
    printPaddedMicroseconds(os, level.time);
    for (int64_t bytes : {level.bytes, profile.stage.peakBytes, level.bytes}) {
      os << ',';
      printMegabytes(os, bytes);
    }
    os << ",NPU:" << profile.stage.rank << '\n';
  }
}

void printOperatorMemory(const RankProfile &profile, raw_ostream &os) {
  os << "Name,Size(KB),Allocation Time(us),Duration(us),"
        "Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
        "Release Total Allocated(MB),Release Total Reserved(MB),Device Type\n";
  const std::vector<DeviceTask> &tasks = profile.device.tasks;
  size_t next = 0;
  for (const Allocation &allocation : getAllocations(profile.stage)) {
    while (next < tasks.size() &&
           (tasks[next].start < allocation.start || !tasks[next].isComputing()))
      ++next;
    // The memory that is live when the step begins belongs to no kernel.
    if (allocation.levelAtStart == allocation.bytes && allocation.start <= 0)
      os << "statics";
    else
      printCsvText(os, next < tasks.size() ? profile.names[next] : "N/A");
    os << ',';
    printScaled(os, allocation.bytes, 10);
    os << ',';
    printPaddedMicroseconds(os, allocation.start);
    os << ',';
    if (allocation.end)
      printPaddedMicroseconds(os, *allocation.end - allocation.start);
    os << ',';
    printMegabytes(os, allocation.levelAtStart);
    os << ',';
    printMegabytes(os, profile.stage.peakBytes);
    os << ',';
    if (allocation.end)
      printMegabytes(os, allocation.levelAtEnd);
    os << ',';
    if (allocation.end)
      printMegabytes(os, profile.stage.peakBytes);
    os << ",NPU:" << profile.stage.rank << '\n';
  }
}

} // namespace mf::timeline
