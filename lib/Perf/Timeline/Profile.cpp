//===- Profile.cpp - Writes a profile like MindSpore's profiler -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "FileStream.h"
#include "FolderInOneStep.h"
#include "ProfileFiles.h"
#include "mf/Perf/Timeline/Writers.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include <map>

using llvm::Error;
using llvm::StringRef;

namespace mf::timeline {

namespace {

struct ProfileFile {
  StringRef name;
  void (*print)(const RankProfile &profile, llvm::raw_ostream &os);
};

constexpr ProfileFile profileFiles[] = {
    {"kernel_details.csv", printKernelDetails},
    {"op_statistic.csv", printOperatorStatistic},
    {"step_trace_time.csv", printStepTraceTime},
    {"memory_record.csv", printMemoryRecord},
    {"operator_memory.csv", printOperatorMemory},
    {"communication.json", printCommunication},
    {"trace_view.json", printTraceView}};

/// Returns a name such as `rank0008_00000000000000_ascend_ms`. The profiler has
/// the host, its process and a time of day in it. A rank and the start of the
/// step take their place, so that names are reproducible.
std::string getFolderName(const StageTimeline &stage) {
  std::string name;
  llvm::raw_string_ostream(name)
      << "rank" << llvm::format("%04lld", static_cast<long long>(stage.rank))
      << "_00000000000000_ascend_ms";
  return name;
}

Error writeRank(StringRef folder, const StepTimeline &timeline,
                const StageTimeline &stage) {
  llvm::SmallString<128> output(folder);
  llvm::sys::path::append(output, getFolderName(stage),
                          "ASCEND_PROFILER_OUTPUT");
  if (Error error = createFolders(output))
    return error;
  const RankProfile profile(timeline, stage);
  llvm::SmallString<128> metadata(llvm::sys::path::parent_path(output));
  llvm::sys::path::append(metadata, "profiler_metadata.json");
  if (Error error = writeFileInOneStep(
          metadata, [&](llvm::raw_ostream &os) { printMetadata(profile, os); }))
    return error;
  for (const ProfileFile &file : profileFiles) {
    llvm::SmallString<128> path(output);
    llvm::sys::path::append(path, file.name);
    if (Error error = writeFileInOneStep(
            path, [&](llvm::raw_ostream &os) { file.print(profile, os); }))
      return error;
  }
  return Error::success();
}

} // namespace

RankProfile::RankProfile(const StepTimeline &timeline,
                         const StageTimeline &stage)
    : timeline(timeline), stage(stage), device(timeline, stage) {
  std::map<std::string, int64_t> counts;
  groups.resize(device.tasks.size());
  for (size_t number = 0; number < device.tasks.size(); ++number) {
    const DeviceTask &task = device.tasks[number];
    const Activity &activity = *task.activity;
    if (activity.category == Category::Kernel) {
      names.push_back(activity.cell.empty()
                          ? activity.name
                          : activity.cell + "/" + activity.name);
      continue;
    }
    if (task.isCopy()) {
      names.push_back(activity.kind.empty() ? activity.name : activity.kind);
      continue;
    }
    groups[number] = nameGroup(activity);
    std::string name = getOperatorType(activity) + "_" + groups[number];
    const int64_t count = counts[name]++;
    names.push_back(name + "_" + std::to_string(count) + "_1");
  }
}

std::string RankProfile::nameGroup(const Activity &activity) {
  std::string name = "p2p";
  if (activity.category == Category::Collective)
    // For example "all_gather over dp, mp".
    name = llvm::join(
        llvm::split(StringRef(activity.kind).split(" over ").second, ", "),
        "_");
  else
    for (int64_t rank : activity.ranks)
      name += "_" + std::to_string(rank);
  if (activity.ranks.empty())
    return name;
  // Stages may have groups of different ranks on the same axes.
  std::string unique = name;
  for (int number = 2;; ++number) {
    const auto [known, isNew] = groupRanks.try_emplace(unique, activity.ranks);
    if (isNew || known->second == activity.ranks)
      return unique;
    unique = name + "_" + std::to_string(number);
  }
}

Error checkProfileFolder(StringRef folder) { return checkNewFolder(folder); }

Error writeProfile(StringRef folder, const StepTimeline &timeline) {
  if (Error error = checkTimes(timeline))
    return error;
  return writeFolderInOneStep(folder, [&](StringRef temporary) -> Error {
    for (const StageTimeline &stage : timeline.stages)
      if (Error error = writeRank(temporary, timeline, stage))
        return error;
    return Error::success();
  });
}

} // namespace mf::timeline
