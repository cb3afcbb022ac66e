//===- StepMeasure.h - Costs of a compiled step -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PLAN_SETTINGS_STEPMEASURE_H
#define MF_PLAN_SETTINGS_STEPMEASURE_H

#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::planner {

/// Durations of a chunk for one micro-batch, in seconds, without waits for
/// other tasks.
struct ChunkMeasure {
  int64_t stage = 0;
  double forward = 0;
  /// The whole backward, including weight gradients and recompute that are
  /// separate tasks.
  double backward = 0;
  double weightGradient = 0;
  /// The recompute that is a separate task.
  double recompute = 0;
  /// The bytes of a frame, which holds the values kept from forward to
  /// backward.
  int64_t frameBytes = 0;
  /// The part of them that forward does not use, because recompute tasks make
  /// its values.
  int64_t recomputedBytes = 0;
};

/// The memory and the update of one stage. Times are in seconds.
struct StageMeasure {
  /// The bytes that the limit is for: those that the trainer of the YAML holds
  /// if they were counted, or else the size of the arena.
  int64_t peakBytes = 0;
  /// True if the arena is that of mf-opt and not of a quick plan.
  bool isExact = false;
  /// The most bytes that are live at once, a lower bound on the arena.
  int64_t liveBytes = 0;
  int64_t hostBytes = 0;
  /// The bytes of buffers that live through the step.
  int64_t staticBytes = 0;
  /// The duration of the work that follows the stage's last task, without
  /// waits: reductions and the update of parameters.
  double updateTime = 0;

  /// Returns by how many bytes the stage exceeds a limit; negative if it fits.
  /// All comparisons with a limit are here.
  int64_t getMissingBytes(int64_t limitBytes) const {
    return peakBytes - limitBytes;
  }
  /// Returns whether the stage could fit with a better plan of its arena.
  bool mayFit(int64_t limitBytes) const { return liveBytes <= limitBytes; }
};

/// The time and the memory of a step. Times are in seconds.
struct StepMeasure {
  /// The duration of the simulated step.
  double seconds = 0;
  /// The average duration of a message between stages; 0 if there are none.
  double transferTime = 0;
  /// The chunks in the order of execution.
  std::vector<ChunkMeasure> chunks;
  std::vector<StageMeasure> stages;
  /// The parts of the step's time, largest first.
  std::vector<timeline::CriticalShare> criticalPath;
  /// The tokens of all ranks.
  int64_t tokens = 0;
  int64_t numRanks = 1;
  /// The floating-point operations of all ranks' cube units.
  double flops = 0;

  /// Returns whether every stage's arena is that of mf-opt.
  bool isExact() const;
  /// Returns whether every stage's arena is at most `limitBytes`.
  bool fits(int64_t limitBytes) const;
  /// Returns the stage with the largest arena.
  size_t findFullest() const;
  double getTokensPerSecondPerNpu() const {
    return static_cast<double>(tokens) / seconds /
           static_cast<double>(numRanks);
  }
};

/// Simulates a step on a target. Costs of layers do not need the parts of the
/// step's time.
llvm::Expected<StepMeasure> measureStep(const CompiledStep &step,
                                        const target::Target &target,
                                        bool withCriticalPath = true);
/// Does the same for a step that was simulated already.
llvm::Expected<StepMeasure> measureStep(const CompiledStep &step,
                                        const timeline::StepTimeline &timeline);

} // namespace mf::planner

#endif // MF_PLAN_SETTINGS_STEPMEASURE_H
