//===- FaultCounts.h - What became of injected faults ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_RUNNER_FAULTCOUNTS_H
#define MF_TEST_UNIT_RUNNER_FAULTCOUNTS_H

#include "FaultSchedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <map>

namespace mf {

/// The text that the error of a run with a fault has. Empty for faults that
/// change nothing.
inline llvm::StringRef getExpectedError(FaultKind kind) {
  switch (kind) {
  case FaultKind::Death:
    return "an injected fault ended it at turn ";
  case FaultKind::Freeze:
    return " does not answer";
  case FaultKind::MemoryRefused:
    return "an injected fault refuses it";
  case FaultKind::DiskFull:
    return "no space left on device";
  case FaultKind::FileCut:
    return "operation canceled";
  case FaultKind::Late:
  case FaultKind::ShortWrites:
    return {};
  }
  return {};
}

/// Counts faults by what became of them. If a run has several,
/// those are detected that its error is about; the others are harmless.
class FaultCounts {
public:
  /// `isSame` says that a run had the bits of one without faults. Returns false
  /// if it had neither these nor the error of a fault that happened.
  bool add(const FaultSchedule &schedule, llvm::StringRef error, bool isSame) {
    ++runs;
    auto isDetected = [&](const Fault &fault) {
      return fault.injected && !getExpectedError(fault.kind).empty() &&
             error.contains(getExpectedError(fault.kind));
    };
    const bool isRight =
        error.empty() ? isSame : llvm::any_of(schedule.getFaults(), isDetected);
    missed += isRight ? 0 : 1;
    for (const Fault &fault : schedule.getFaults()) {
      if (!fault.injected)
        continue;
      Count &count = counts[fault.kind];
      ++count.injected;
      ++(!isRight            ? count.missed
         : isDetected(fault) ? count.detected
                             : count.harmless);
    }
    return isRight;
  }

  /// A line for each kind, as scripts/nightly.py reads it, and one that says
  /// how many runs there were.
  void print(llvm::StringRef what, uint64_t firstSeed) const {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    for (const auto &[kind, count] : counts)
      llvm::outs() << llvm::formatv(
          "detection: {0}: {1} injected, {2} detected, {3} harmless, {4} "
          "missed\n",
          getName(kind), count.injected, count.detected, count.harmless,
          count.missed);
    llvm::outs() << llvm::formatv("{0} {1} from seed {2}, {3:f0} a second, "
                                  "{4} wrong\n",
                                  runs, what, firstSeed,
                                  static_cast<double>(runs) / seconds, missed);
  }

private:
  struct Count {
    uint64_t injected = 0, detected = 0, harmless = 0, missed = 0;
  };
  std::map<FaultKind, Count> counts;
  uint64_t runs = 0, missed = 0;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};

} // namespace mf

#endif // MF_TEST_UNIT_RUNNER_FAULTCOUNTS_H
