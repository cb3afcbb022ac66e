//===- Profile.cpp - Writes a profile like MindSpore's profiler -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileFiles.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/AtomicFile.h"
#include "mf/Support/FileError.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <map>
#include <sys/stat.h>
#include <unistd.h>

using llvm::Error;
using llvm::SmallString;
using llvm::StringRef;
using llvm::Twine;

namespace mf::timeline {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

/// Removes the folder unless it was renamed.
class TemporaryFolder {
public:
  explicit TemporaryFolder(StringRef name) : name(name) {}
  ~TemporaryFolder() {
    // A folder that cannot be removed stays; the error that led here is
    // reported.
    const std::error_code ignored = fs::remove_directories(name);
    (void)ignored;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

private:
  SmallString<128> name;
};

} // namespace

/// Creates a folder and its parents if they do not exist.
static Error createFolders(StringRef name) {
  if (std::error_code code = fs::create_directories(name, true, fs::all_all))
    return fileError(name, "create", code);
  return Error::success();
}

/// Fails if there is anything at `path` other than an empty folder.
static Error checkNewFolder(StringRef name) {
  fs::file_status status;
  if (fs::status(name, status))
    return Error::success();
  if (status.type() != fs::file_type::directory_file)
    return fileError(name, "cannot write: exists and is not a folder");
  std::error_code code;
  if (fs::directory_iterator(name, code) != fs::directory_iterator())
    return fileError(name,
                     "cannot write: there are files in it; expected a new or "
                     "an empty folder");
  return Error::success();
}

/// Calls `write` with a hidden folder next to `path`. Renames it to `path` if
/// there was no error, and otherwise removes it. Fails if checkNewFolder does.
static Error writeFolderAtomically(StringRef name,
                                   llvm::function_ref<Error(StringRef)> write) {
  if (Error error = checkNewFolder(name))
    return error;
  SmallString<128> folder(name);
  while (folder.size() > 1 && path::is_separator(folder.back()))
    folder.pop_back();
  StringRef parent = path::parent_path(folder);
  SmallString<128> temporary(parent);
  path::append(temporary, "." + path::filename(folder) + ".tmp-" +
                              Twine(llvm::sys::Process::getProcessId()));
  if (::mkdir(temporary.c_str(), 0777) != 0)
    return errnoError(name, "create");
  const TemporaryFolder guard(temporary);
  if (Error error = write(temporary))
    return error;
  if (::rename(temporary.c_str(), folder.c_str()) != 0)
    return errnoError(name, "rename to its final name");
  return syncDirectory(parent.empty() ? "." : parent);
}

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
  if (Error error = writeFileAtomically(
          metadata, [&](llvm::raw_ostream &os) { printMetadata(profile, os); }))
    return error;
  for (const ProfileFile &file : profileFiles) {
    llvm::SmallString<128> path(output);
    llvm::sys::path::append(path, file.name);
    if (Error error = writeFileAtomically(
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
  return writeFolderAtomically(folder, [&](StringRef temporary) -> Error {
    for (const StageTimeline &stage : timeline.stages)
      if (Error error = writeRank(temporary, timeline, stage))
        return error;
    return Error::success();
  });
}

} // namespace mf::timeline
