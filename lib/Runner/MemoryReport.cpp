//===- MemoryReport.cpp - Planned and used memory of a rank ---------------===//

#include "mf/Runner/MemoryReport.h"
#include "mf/Config/MemorySize.h"
#include "mf/Program/Liveness.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <sys/sysinfo.h>

using namespace mf::program;

namespace mf::runner {

int64_t addPadding(int64_t end, int64_t arenaBytes) {
  return std::min<int64_t>(llvm::alignTo(end, allocationAlignment), arenaBytes);
}

MemoryReport reportMemory(const Program &program, size_t number) {
  const Rank &rank = program.ranks[number];
  const std::vector<Lifetime> lifetimes = computeLifetimes(program, rank);
  MemoryReport report;
  report.planned = rank.arenaBytes;
  report.used =
      addPadding(findExtent(lifetimes, Space::Device), rank.arenaBytes);
  report.hostPlanned = rank.hostBytes;
  report.hostUsed = findExtent(lifetimes, Space::Host);
  const MemoryUse peak = findPeak(lifetimes, Space::Device);
  for (size_t i = 0; i < numCategories; ++i)
    if (peak.byCategory[i] > 0)
      report.atPeak[getName(static_cast<Category>(i)).str()] =
          peak.byCategory[i];
  report.atPeak["unused"] = rank.arenaBytes - peak.bytes;
  return report;
}

llvm::Error checkMemoryLimit(const Program &program, int64_t hbmBytes) {
  uint64_t total = 0;
  for (size_t i = 0; i < program.ranks.size(); ++i) {
    const Rank &rank = program.ranks[i];
    total += rank.arenaBytes + rank.hostBytes;
    const int64_t limit =
        hbmBytes > 0 ? hbmBytes : rank.hbmLimitBytes.value_or(0);
    if (limit <= 0 || rank.arenaBytes <= limit)
      continue;
    std::string text = "rank " + std::to_string(i) + " needs " +
                       describeMemorySize(rank.arenaBytes) +
                       " of device memory, but " + describeMemorySize(limit) +
                       " are allowed; at the peak:";
    llvm::ListSeparator comma(",");
    for (const auto &[category, bytes] :
         sortBySize(reportMemory(program, i).atPeak))
      text += (comma + " " + category + " " + describeMemorySize(bytes)).str();
    return llvm::make_error<LocatedError>(rank.location, text);
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
      "the program's memories are " + std::to_string(total) +
      " bytes, but this machine has " + std::to_string(available) +
      "; it cannot be executed here");
}

} // namespace mf::runner
