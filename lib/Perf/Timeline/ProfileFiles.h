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

#include "DeviceTasks.h"
#include <map>

namespace mf::timeline {

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

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_PROFILEFILES_H
