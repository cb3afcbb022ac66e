//===- ExactPacking.h - Packs the exact shapes of a step --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Packs frame instances, scratch and task buffers with their holes, in rounds.
// A round has a rule for the order in which shapes are placed, and tries all
// variants of the problem with it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_EXACTPACKING_H
#define MF_LIB_PROGRAM_MEMORY_STEP_EXACTPACKING_H

#include "FrameInstances.h"
#include "lib/Program/Memory/packing/Packing.h"
#include "mf/Program/Memory/StepPlan.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf::memory {

/// Sections of a step's time. A section is a part of a task in which no task
/// buffer and no part of a frame begins or ends. Packing problems use sections
/// as their time: a task buffer has its exact lifetime, while frames and
/// scratch are known by task and part of a task.
class StepSections {
public:
  StepSections(const StepProblem &problem, const FrameInstances &instances,
               llvm::ArrayRef<PlannedFrame> frames);

  int32_t getNumSections() const { return firsts.back(); }
  /// Returns the first section of a task; `task` may be one past the last.
  int32_t getFirst(int64_t task) const { return firsts[task]; }
  /// Returns the section that begins at a moment. A task must begin there, or a
  /// task buffer or a part of a frame begin or end.
  int32_t get(StepMoment moment) const;
  /// Returns the instructions at which the sections of a task begin. The first
  /// one is 0; the last one may be past the last instruction.
  llvm::ArrayRef<int64_t> getBegins(int64_t task) const { return begins[task]; }

private:
  std::vector<std::vector<int64_t>> begins;
  std::vector<int32_t> firsts;
};

/// The parts of a step that are packed.
struct LaidOutStep {
  const StepProblem &problem;
  const FrameInstances &instances;
  const StepSections &sections;
};

/// Searches for offsets of the shapes of `plan`'s layouts (frame instances,
/// then the scratch of each task, then task buffers) with a lower peak than
/// `best`, which it replaces. Ends when `goodPeak` is reached, `work` is spent,
/// or `best` occupies no more than the shapes do where they are fullest.
/// `frames` has the offsets of the frame instances if they are packed by
/// themselves. Layouts of scratch may be replaced by others of the same size or
/// slightly more.
void packExactly(const LaidOutStep &step, const PackResult &frames,
                 int64_t goodPeak, int64_t work, StepPlan &plan,
                 PackResult &best);

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_EXACTPACKING_H
