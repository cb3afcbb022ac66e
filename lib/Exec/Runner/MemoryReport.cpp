//===- MemoryReport.cpp - Planned and used memory of a rank ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/MemoryReport.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Program/Liveness.h"
#include "mf/Program/LocatedError.h"
#include "mf/Support/Alignment.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <sys/sysinfo.h>

using namespace mf::program;

namespace mf::runner {

int64_t addPadding(int64_t end, int64_t arenaBytes) {
  return std::min<int64_t>(
      static_cast<int64_t>(llvm::alignTo(end, mf::deviceBufferAlignment)),
      arenaBytes);
}

MemoryReport reportMemory(const StageProgram &stage) {
  const std::vector<Lifetime> lifetimes = computeLifetimes(stage);
  MemoryReport report;
  report.planned = stage.arenaBytes;
  report.used =
      addPadding(findExtent(lifetimes, Space::Device), stage.arenaBytes);
  report.hostPlanned = stage.hostBytes;
  report.hostUsed = findExtent(lifetimes, Space::Host);
  const MemoryUse peak = findPeak(lifetimes, Space::Device);
  for (size_t i = 0; i < numCategories; ++i)
    if (peak.byCategory[i] > 0)
      report.atPeak[getName(static_cast<BufferCategory>(i)).str()] =
          peak.byCategory[i];
  report.atPeak["unused"] = stage.arenaBytes - peak.bytes;
  return report;
}

static llvm::Error makeLimitError(const StageProgram &stage, int64_t limit) {
  std::string text = "a rank of stage " + std::to_string(stage.stage) +
                     " needs " + describeMemorySize(stage.arenaBytes) +
                     " of device memory, but " + describeMemorySize(limit) +
                     " are allowed; at the peak:";
  llvm::ListSeparator comma(",");
  for (const auto &[category, bytes] : sortBySize(reportMemory(stage).atPeak))
    text += (comma + " " + category + " " + describeMemorySize(bytes)).str();
  return llvm::make_error<LocatedError>(stage.location, text);
}

llvm::Error checkDeviceMemory(const Program &program, int64_t hbmBytes) {
  for (const StageProgram &stage : program.stages)
    if (hbmBytes > 0 && stage.arenaBytes > hbmBytes)
      return makeLimitError(stage, hbmBytes);
  return llvm::Error::success();
}

llvm::Error checkMemoryLimit(const Program &program, int64_t hbmBytes) {
  uint64_t total = 0;
  for (const StageProgram &stage : program.stages) {
    total += static_cast<uint64_t>(stage.arenaBytes + stage.hostBytes) *
             program.mesh.getRanksPerStage();
    const int64_t limit =
        hbmBytes > 0 ? hbmBytes : stage.hbmLimitBytes.value_or(0);
    if (limit > 0 && stage.arenaBytes > limit)
      return makeLimitError(stage, limit);
  }
  struct sysinfo machine;
  if (sysinfo(&machine) != 0)
    return llvm::Error::success();
  const uint64_t available =
      (static_cast<uint64_t>(machine.totalram) + machine.totalswap) *
      machine.mem_unit;
  if (total <= available)
    return llvm::Error::success();
  return llvm::createStringError(
      "the memories of the program's " + std::to_string(program.getNumRanks()) +
      " ranks are " + std::to_string(total) + " bytes, but this machine has " +
      std::to_string(available) + "; it cannot be executed here");
}

} // namespace mf::runner
