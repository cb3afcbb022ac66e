//===- ProfileMemory.cpp - Memory in a profile ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileFiles.h"
#include "llvm/ADT/STLExtras.h"
#include <charconv>
#include <cmath>
#include <deque>
#include <map>

using llvm::raw_ostream;

namespace mf::timeline {

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
