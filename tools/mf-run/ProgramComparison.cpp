//===- ProgramComparison.cpp - Compares a run with a program on CANN ------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProgramComparison.h"
#include "mf/Exec/Data/TensorComparison.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;

extern char **environ;

namespace mf::tools {

static Expected<std::string> findProgram(StringRef folder) {
  for (const char *name : {"step", "build/step"}) {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    if (sys::fs::can_execute(path)) {
      if (std::error_code code = sys::fs::make_absolute(path))
        return createStringError(path + ": " + code.message());
      return path.str().str();
    }
  }
  return createStringError(
      "--compare-with: '" + folder +
      "' has no program 'step' or 'build/step'; expected a folder where what "
      "mf-translate --ascend-to-cpp wrote was built");
}

Expected<std::unique_ptr<ProgramComparison>>
ProgramComparison::create(const Options &options) {
  std::unique_ptr<ProgramComparison> made(new ProgramComparison(options));
  auto program = findProgram(options.compareWith);
  if (!program)
    return program.takeError();
  made->program = *program;
  if (std::error_code code =
          sys::fs::createUniqueDirectory("mf-run-compare", made->folder))
    return createStringError("a folder for --compare-with: " + code.message());
  made->ownPath = options.output == "-" ? made->getPath("ours.safetensors")
                                        : options.output.getValue();
  return made;
}

ProgramComparison::~ProgramComparison() {
  if (!folder.empty())
    (void)sys::fs::remove_directories(folder);
}

std::string ProgramComparison::getPath(StringRef name) const {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

/// Returns the last lines that a failed rank has printed.
static std::string readErrors(const std::string &path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return "";
  constexpr size_t mostBytes = 2000;
  return (*file)->getBuffer().take_back(mostBytes).trim().str();
}

/// Runs the program with one process per rank, whose environment has the rank's
/// number.
Error ProgramComparison::runProgram(int64_t numRanks) const {
  std::vector<std::string> arguments = {
      program,
      "--quiet",
      "--steps=" + std::to_string(options.steps),
      "--seed=" + std::to_string(options.seed),
      "--dump-tensors=" + options.getDumpPattern().str(),
      "-o=" + getPath("theirs.safetensors")};
  for (const auto *path : {&options.data, &options.initParams})
    if (!path->empty())
      arguments.push_back("--" + path->ArgStr.str() + "=" + path->getValue());
  const std::vector<StringRef> given(arguments.begin(), arguments.end());
  const std::string nothing, numbers = "RANK_SIZE=" + std::to_string(numRanks),
                             meeting = ("MF_ROOT_INFO_DIR=" + folder).str();
  std::vector<sys::ProcessInfo> started;
  std::string failure;
  for (int64_t rank = 0; rank < numRanks && failure.empty(); ++rank) {
    std::vector<StringRef> environment;
    for (char **entry = environ; *entry; ++entry)
      environment.emplace_back(*entry);
    const std::string number = "RANK_ID=" + std::to_string(rank);
    append_range(environment, ArrayRef<StringRef>{number, numbers, meeting});
    const std::string errors = getPath("errors." + std::to_string(rank));
    const std::optional<StringRef> redirects[] = {nothing, nothing, errors};
    bool hasFailed = false;
    started.push_back(sys::ExecuteNoWait(program, given, environment, redirects,
                                         /*MemoryLimit=*/0, &failure,
                                         &hasFailed));
  }
  for (const auto &[rank, process] : enumerate(started)) {
    std::string text;
    const sys::ProcessInfo ended =
        sys::Wait(process, /*SecondsToWait=*/std::nullopt, &text);
    if (ended.ReturnCode != 0 && failure.empty())
      failure = ("rank " + Twine(rank) + " ended with exit code " +
                 Twine(ended.ReturnCode) + ": " +
                 readErrors(getPath("errors." + std::to_string(rank))))
                    .str();
  }
  if (failure.empty())
    return Error::success();
  return createStringError("--compare-with: " + program + ": " + failure);
}

Expected<int> ProgramComparison::run(int64_t numRanks, raw_ostream &os) const {
  if (Error error = runProgram(numRanks))
    return std::move(error);
  auto ours = SafetensorsFile::open(ownPath);
  if (!ours)
    return ours.takeError();
  auto theirs = SafetensorsFile::open(getPath("theirs.safetensors"));
  if (!theirs)
    return theirs.takeError();
  auto comparison = compareTensors(*ours, *theirs, ComparisonRule());
  if (!comparison)
    return comparison.takeError();
  const auto numEqual =
      count_if(comparison->tensors,
               [](const ComparedTensor &tensor) { return tensor.error == 0; });
  os << "compared with " << program << ": " << comparison->tensors.size()
     << " tensors of " << numRanks << (numRanks == 1 ? " rank" : " ranks")
     << ", " << numEqual << " of them equal\n";
  if (!comparison->skipped.empty())
    os << comparison->skipped.size() << " are not in the program, such as "
       << comparison->skipped.front() << "\n";
  if (!comparison->findFirstWrong())
    return 0;
  printFirstWrong(*comparison, os);
  return 2;
}

} // namespace mf::tools
