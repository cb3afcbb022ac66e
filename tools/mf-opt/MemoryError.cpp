//===- MemoryError.cpp - The error of a step that does not fit ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MemoryError.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

using mf::passes::StageOverflow;

namespace mf::tools {

void MemoryError::add(StageOverflow overflow) {
  const std::lock_guard<std::mutex> lock(isAdding);
  stages.push_back(std::move(overflow));
}

/// Names the other stages that do not fit, in order.
static std::string nameOthers(llvm::ArrayRef<StageOverflow> stages,
                              int64_t fullest) {
  constexpr size_t mostNamed = 4;
  constexpr double gib = 1 << 30;
  std::string names;
  size_t count = 0;
  for (const StageOverflow &stage : stages) {
    if (stage.stage == fullest)
      continue;
    if (++count <= mostNamed)
      names += (count > 1 ? ", " : "") +
               llvm::formatv("{0} ({1:f2} GiB)", stage.stage,
                             static_cast<double>(stage.bytes) / gib)
                   .str();
  }
  return llvm::formatv("{0} other {1} not fit: {2}{3}; --all-stages prints "
                       "all that is known of each",
                       count, count == 1 ? "stage does" : "stages do", names,
                       count > mostNamed ? ", .." : "");
}

void MemoryError::print(llvm::StringRef yaml, llvm::StringRef fileName,
                        llvm::StringRef hbm, bool allStages) {
  DiagnosticList ignored;
  const TrainingConfig config = parseTrainingConfig(yaml, fileName, ignored);
  Location place = {fileName.str(), 0, 0};
  if (Node limit = config.context.node["max_device_memory"];
      limit && hbm.empty())
    place = limit.getLocation();
  llvm::sort(stages, [](const StageOverflow &a, const StageOverflow &b) {
    return a.stage < b.stage;
  });
  DiagnosticList errors;
  if (allStages) {
    for (const StageOverflow &stage : stages) {
      Diagnostic &error = errors.error(place, stage.describe());
      for (const std::string &fact : stage.listFacts())
        error.attachNote(fact, place);
    }
    errors.print(llvm::errs());
    return;
  }
  const StageOverflow &fullest = *llvm::max_element(
      stages, [](const StageOverflow &a, const StageOverflow &b) {
        return a.bytes < b.bytes;
      });
  Diagnostic &error = errors.error(place, fullest.describe() +
                                              (hbm.empty() ? "" : " by --hbm"));
  for (const std::string &fact : fullest.summarize())
    error.attachNote(fact, place);
  if (stages.size() > 1)
    error.attachNote(nameOthers(stages, fullest.stage), place);
  if (config.isOfDynamicGraph() && !llvm::sys::Process::GetEnv("RANK_SIZE"))
    error.attachNote(
        llvm::formatv("RANK_SIZE is not set in the environment, so the step is "
                      "for the fewest ranks that the YAML allows, {0}; set it "
                      "to the number that is started: ranks share parameters",
                      config.parallel.getDeviceCount()),
        place);
  errors.print(llvm::errs());
}

} // namespace mf::tools
