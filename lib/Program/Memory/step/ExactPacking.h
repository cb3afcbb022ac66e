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
#include "StepSections.h"
#include "lib/Program/Memory/packing/Packing.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// The parts of a step that are packed.
struct LaidOutStep {
  const StepProblem &problem;
  const FrameInstances &instances;
  const StepSections &sections;
};

/// Searches for offsets of the shapes of `plan`'s layouts (frame instances,
/// then the scratch of each task, then task buffers) with a lower peak than
/// `best`, which it replaces. Ends when `goodPeak` is reached or `work` is
/// spent. `frames` has the offsets of the frame instances if they are packed by
/// themselves. Layouts of scratch may be replaced by others of the same size or
/// slightly more.
void packExactly(const LaidOutStep &step, const PackResult &frames,
                 int64_t goodPeak, int64_t work, StepPlan &plan,
                 PackResult &best);

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_EXACTPACKING_H
