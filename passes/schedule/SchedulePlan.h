//===- SchedulePlan.h - Order of forward and backward runs -----*- C++ -*-===//
//
// The decision of mf-build-schedule as a plain value: which forward and
// backward runs one stage does, in which order. Knows no MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SCHEDULE_SCHEDULEPLAN_H
#define MF_PASSES_SCHEDULE_SCHEDULEPLAN_H

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <vector>

namespace mf::passes {

/// One run of a stage's chunk.
struct ScheduledRun {
  enum class Phase { Forward, Backward };
  Phase phase = Phase::Forward;
  int64_t microBatch = 0;

  bool operator==(const ScheduledRun &other) const {
    return phase == other.phase && microBatch == other.microBatch;
  }
};

/// The runs of one stage, in order.
struct SchedulePlan {
  int64_t stage = 0;
  std::vector<ScheduledRun> runs;

  /// Most micro-batches between their forward and the end of their backward.
  int64_t getMaxInFlight() const;

  /// Tells whether each micro-batch has one forward and one later backward.
  llvm::Error verify(int64_t microBatches) const;

  /// `stage 0: F0 F1 B0 F2 B1 B2`.
  void print(llvm::raw_ostream &os) const;
};

/// 1F1B (Narayanan et al., PipeDream, 2019): stage p of P runs P-p-1 warm-up
/// forwards, then a forward and a backward in turn, then the remaining
/// backwards. With one stage that is gradient accumulation. Any number of
/// micro-batches from 1 works; fewer than stages only leave bubbles.
SchedulePlan planOneForwardOneBackward(int64_t stage, int64_t stages,
                                       int64_t microBatches);

} // namespace mf::passes

#endif // MF_PASSES_SCHEDULE_SCHEDULEPLAN_H
