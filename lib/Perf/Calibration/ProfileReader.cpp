//===- ProfileReader.cpp - A folder of profiles ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace mf::calibration {

static constexpr llvm::StringLiteral outputName = "ASCEND_PROFILER_OUTPUT";
static constexpr llvm::StringLiteral kernelsName = "kernel_details.csv";

static std::string joinPath(StringRef folder, StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// Returns the subfolders of a folder, sorted.
static Expected<std::vector<std::string>> getSubfolders(StringRef folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code))
    if (fs::is_directory(entry->path()))
      names.push_back(entry->path());
  if (code)
    return llvm::createStringError(folder + ": cannot list: " + code.message());
  llvm::sort(names);
  return names;
}

/// Returns all ASCEND_PROFILER_OUTPUT folders that `folder` is or contains.
static Expected<std::vector<std::string>> findOutputs(StringRef folder) {
  if (!fs::exists(folder))
    return llvm::createStringError(folder + ": no such folder");
  if (!fs::is_directory(folder))
    return llvm::createStringError(
        folder + ": expected the folder of a profile, but this is a file");
  if (fs::exists(joinPath(folder, kernelsName)))
    return std::vector<std::string>{folder.str()};
  if (std::string inside = joinPath(folder, outputName);
      fs::is_directory(inside))
    return std::vector<std::string>{inside};
  Expected<std::vector<std::string>> subfolders = getSubfolders(folder);
  if (!subfolders)
    return subfolders.takeError();
  std::vector<std::string> outputs;
  for (const std::string &subfolder : *subfolders)
    if (std::string inside = joinPath(subfolder, outputName);
        fs::is_directory(inside))
      outputs.push_back(inside);
  if (outputs.empty())
    return llvm::createStringError(
        folder + ": no profile: expected " + kernelsName + ", a folder " +
        outputName + ", or folders such as worker_ascend_ms that have one");
  return outputs;
}

/// Maps a file for reading. Returns null if the file is optional and does not
/// exist.
static Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(StringRef path,
                                                              bool isRequired) {
  if (!fs::exists(path) && !isRequired)
    return nullptr;
  if (fs::exists(path) && !fs::is_regular_file(path))
    return llvm::createStringError(path + ": expected a file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(
        path + ": cannot read: " + buffer.getError().message());
  return std::move(*buffer);
}

/// Adds the rows of step_trace_time.csv.
static Error readStepTrace(StringRef path, StringRef text, uint32_t folder,
                           Profile &profile) {
  constexpr double secondsPerMicrosecond = 1e-6;
  ProfileTable table(path, text);
  int step = -1, computing = -1, exposed = -1, free = -1;
  auto readRow = [&]() -> Error {
    ProfiledStep traced;
    traced.folder = folder;
    // The column is missing if the profiler was not told to record steps.
    if (Error error = table.readStep(step, traced.step))
      return error;
    double length = 0;
    for (int column : {computing, exposed, free}) {
      if (column < 0)
        continue;
      Expected<double> microseconds = table.getNumber(column);
      if (!microseconds)
        return microseconds.takeError();
      // The last column is the free time.
      traced.free = *microseconds * secondsPerMicrosecond;
      length += traced.free;
    }
    if (computing >= 0 && exposed >= 0)
      traced.length = length;
    profile.steps.push_back(traced);
    return Error::success();
  };
  return table.read({{"Step", false, &step},
                     {"Computing", false, &computing},
                     {"Communication(Not Overlapped)", false, &exposed},
                     {"Free", true, &free}},
                    readRow);
}

static Error readFolder(uint32_t number, llvm::StringMap<size_t> &known,
                        Profile &profile) {
  const std::string &folder = profile.folders[number];
  auto read = [&](const std::string &path, bool isRequired,
                  llvm::function_ref<Error(StringRef, StringRef)> parse) {
    auto buffer = openFile(path, isRequired);
    if (!buffer)
      return buffer.takeError();
    return *buffer ? parse(path, (*buffer)->getBuffer()) : Error::success();
  };
  if (Error error = read(joinPath(folder, kernelsName), true,
                         [&](StringRef path, StringRef text) {
                           return readKernelDetails(path, text, number, known,
                                                    profile);
                         }))
    return error;
  using Parser = Error(StringRef, StringRef, uint32_t, Profile &);
  for (auto [name, parse] :
       std::initializer_list<std::pair<StringRef, Parser *>>{
           {"step_trace_time.csv", readStepTrace},
           {"communication.json", readCommunication},
           {"trace_view.json", readTraceCopies}})
    if (Error error = read(joinPath(folder, name), false,
                           [&, parse = parse](StringRef path, StringRef text) {
                             return parse(path, text, number, profile);
                           }))
      return error;
  // The file is in the folder that contains this one.
  return read(
      joinPath(llvm::sys::path::parent_path(folder), "profiler_metadata.json"),
      false, [&](StringRef path, StringRef text) {
        return readMetadata(path, text, number, profile);
      });
}

Expected<Profile> readProfile(StringRef folder) {
  Expected<std::vector<std::string>> outputs = findOutputs(folder);
  if (!outputs)
    return outputs.takeError();
  Profile profile;
  profile.folders = std::move(*outputs);
  llvm::StringMap<size_t> known;
  for (uint32_t number = 0; number < profile.folders.size(); ++number)
    if (Error error = readFolder(number, known, profile))
      return std::move(error);
  if (profile.rows == 0)
    return llvm::createStringError(
        joinPath(profile.folders.front(), kernelsName) +
        ": no rows: expected the kernels of at least one step");
  return profile;
}

} // namespace mf::calibration
