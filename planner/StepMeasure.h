//===- StepMeasure.h - What a compiled step costs --------------*- C++ -*-===//

#ifndef MF_PLANNER_STEPMEASURE_H
#define MF_PLANNER_STEPMEASURE_H

#include "mf/Program/Program.h"
#include "mf/Target/Target.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace mf::planner {

/// Of one micro-batch, in seconds; not what tasks wait for others.
struct ChunkMeasure {
  int64_t stage = 0;
  double forward = 0;
  /// All of it, also where weight gradients are a task of their own.
  double backward = 0;
  double weightGradient = 0;
  /// Bytes of a frame: what is kept from forward to backward.
  int64_t frameBytes = 0;
};

struct StageMeasure {
  /// Size of the arena.
  int64_t peakBytes = 0;
  int64_t hostBytes = 0;
  /// Buffers that live through the step.
  int64_t staticBytes = 0;
  /// What it does behind its last task, without waits: reductions and the
  /// update of parameters.
  double updateTime = 0;
};

struct StepMeasure {
  /// Of the step, simulated.
  double seconds = 0;
  /// In the order of execution.
  std::vector<ChunkMeasure> chunks;
  std::vector<StageMeasure> stages;
};

/// Simulates a step on a target.
llvm::Expected<StepMeasure> measureStep(const program::Program &program,
                                        const target::Target &target);

} // namespace mf::planner

#endif // MF_PLANNER_STEPMEASURE_H
