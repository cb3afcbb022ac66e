//===- StepMeasure.h - Costs of a compiled step -----------------*- C++ -*-===//

#ifndef MF_PLANNER_STEPMEASURE_H
#define MF_PLANNER_STEPMEASURE_H

#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::planner {

/// Times of one micro-batch, in seconds, without the waits of tasks for others.
struct ChunkMeasure {
  int64_t stage = 0;
  double forward = 0;
  /// All of it, also where weight gradients are a task of their own.
  double backward = 0;
  double weightGradient = 0;
  /// Bytes of a frame: the values kept from forward to backward.
  int64_t frameBytes = 0;
};

struct StageMeasure {
  /// Size of the arena.
  int64_t peakBytes = 0;
  /// The arena is that of mf-opt, not of a quick plan.
  bool isExact = false;
  /// The most bytes alive at once, which no arena is smaller than.
  int64_t liveBytes = 0;
  int64_t hostBytes = 0;
  /// Buffers that live through the step.
  int64_t staticBytes = 0;
  /// Time of its work behind its last task, without waits: reductions and the
  /// update of parameters.
  double updateTime = 0;
};

struct StepMeasure {
  /// Time of the simulated step.
  double seconds = 0;
  /// Time of a message between stages, on average; 0 if there is none.
  double transferTime = 0;
  /// Measures of the chunks, in the order of execution.
  std::vector<ChunkMeasure> chunks;
  std::vector<StageMeasure> stages;
  /// The parts of the step's time, largest first.
  std::vector<timeline::CriticalShare> criticalPath;
  /// Tokens of all ranks.
  int64_t tokens = 0;
  int64_t numRanks = 1;
  /// Floating-point operations of all ranks' cubes.
  double flops = 0;

  /// Whether every stage's arena is that of mf-opt.
  bool isExact() const;
  /// Whether every stage's arena has at most so many bytes.
  bool fits(int64_t limitBytes) const;
  /// The stage with the largest arena.
  size_t findFullest() const;
  double getTokensPerSecondPerNpu() const {
    return static_cast<double>(tokens) / seconds /
           static_cast<double>(numRanks);
  }
};

/// Simulates a step on a target.
llvm::Expected<StepMeasure> measureStep(const CompiledStep &step,
                                        const target::Target &target);

} // namespace mf::planner

#endif // MF_PLANNER_STEPMEASURE_H
