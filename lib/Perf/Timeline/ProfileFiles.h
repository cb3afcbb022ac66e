//===- ProfileFiles.h - The files of a profile ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The files that MindSpore Profiler 2.5 writes into ASCEND_PROFILER_OUTPUT, in
// its columns and units, with a function for each file. Times start with the
// step, whereas those of the profiler start in 1970. MB are 2^20 bytes, but
// 10^6 in communication.json, as in the profiler.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_PROFILEFILES_H
#define MF_LIB_PERF_TIMELINE_PROFILEFILES_H

#include "Intervals.h"
#include "TimelineText.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace mf::timeline {

/// One task of a device. It is a row of kernel_details.csv, unless it copies to
/// or from the host. Tasks differ from the timeline in two ways. On a device, a
/// receive is a task that begins when its stream reaches it. The time in which
/// the device is idle until a message arrives belongs to the receive, and the
/// profiler calls it the bubble. A collective that holds up the device is not a
/// task of the stream that it holds up.
struct DeviceTask {
  const Activity *activity = nullptr;
  uint32_t stream = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  /// The time at which bytes begin to move. It equals `start` except for
  /// receives.
  Nanoseconds transferStart = 0;
  /// The time since the previous task of its stream.
  Nanoseconds wait = 0;

  bool isCommunication() const;
  /// Returns whether the task copies between device and host.
  bool isCopy() const;
  bool isComputing() const { return !isCommunication() && !isCopy(); }
};

/// All tasks of a rank in the order of their starts, and intervals by kind of
/// work.
struct DeviceTasks {
  DeviceTasks(const StepTimeline &timeline, const StageTimeline &stage);

  std::vector<DeviceTask> tasks;
  /// The duration of the step. A rank may be done earlier.
  Nanoseconds step = 0;
  Intervals<Nanoseconds> computing;
  /// The intervals of collectives, sends and receives.
  Intervals<Nanoseconds> communication;
  Intervals<Nanoseconds> exposedCommunication;
  /// The intervals without computation and communication.
  Intervals<Nanoseconds> free;
  /// The intervals of receives.
  Intervals<Nanoseconds> receiving;
};

/// Returns "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC" or "COMMUNICATION", depending
/// on the engine and the kind of work.
llvm::StringRef getAcceleratorCore(const Activity &activity);

/// Returns the operator type: a kernel's name; a collective or message as HCCL
/// calls it ("hcom_allGather_").
std::string getOperatorType(const Activity &activity);

/// Returns the bytes of a collective or message that the rank sends, or
/// Activity::bytes if the number of ranks is not known.
double getSentBytes(const Activity &activity);

/// The rank of a stage, as its device's profiler sees it.
struct RankProfile {
  RankProfile(const StepTimeline &timeline, const StageTimeline &stage);

  const StepTimeline &timeline;
  const StageTimeline &stage;
  DeviceTasks device;
  /// The name of each task: "layers.0.attention.wq/aclnnMatmul",
  /// "hcom_allGather__mp_0_1".
  std::vector<std::string> names;
  /// The group of each task that communicates: "mp" or "p2p_0_8". Empty for
  /// other tasks.
  std::vector<std::string> groups;
  /// The ranks of groups, as far as they are known.
  std::map<std::string, std::vector<int64_t>> groupRanks;

private:
  /// Returns the name of the group of a collective or message.
  std::string nameGroup(const Activity &activity);
};

/// The number of the only step in a profile.
constexpr int profiledStep = 1;

/// Prints kernel_details.csv: a line for each task except copies between device
/// and host.
void printKernelDetails(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints op_statistic.csv: counts and times by type, longest first.
void printOperatorStatistic(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints step_trace_time.csv: the parts of the step's time. Computing,
/// Communication(Not Overlapped) and Free add up to the step, and so do Stage
/// and Bubble, the time in receives. Preparing is the part of Free before the
/// first task.
void printStepTraceTime(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints memory_record.csv: a line for each change of the level. The reserved
/// bytes are those of the arena.
void printMemoryRecord(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints operator_memory.csv: a line for each rise of the level, named after
/// the kernel that begins with it. The level at the start of the step is called
/// `statics`. An allocation ends with the first fall by the same number of
/// bytes that ends no earlier one. If there is none, the duration is empty.
void printOperatorMemory(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints communication.json: for each collective and message its times, the
/// bytes that the rank sends, and the rate on the networks that carry them.
void printCommunication(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints profiler_metadata.json, the ranks of groups. It is in the folder that
/// contains ASCEND_PROFILER_OUTPUT.
void printMetadata(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints trace_view.json: streams, communicators, tasks of the schedule,
/// memory, and overlaps.
void printTraceView(const RankProfile &profile, llvm::raw_ostream &os);

/// Prints a field, in quotes if it contains a comma, a quote or a line end.
inline void printCsvText(llvm::raw_ostream &os, llvm::StringRef text) {
  if (text.find_first_of(",\"\r\n") == llvm::StringRef::npos) {
    os << text;
    return;
  }
  os << '"';
  for (char letter : text) {
    if (letter == '"')
      os << '"';
    os << letter;
  }
  os << '"';
}

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_PROFILEFILES_H
