//===- ExactPacking.h - Packs the exact shapes of a step --------*- C++ -*-===//
//
// Packs frame instances, scratch and task buffers with their holes, in rounds:
// a round is a rule for the order in which shapes are taken, and within it come
// the variants of the problem.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_EXACTPACKING_H
#define MF_MEMORY_EXACTPACKING_H

#include "StepPlaces.h"
#include "StepSections.h"
#include "lib/Program/Memory/packing/Packing.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// The parts of a step from which it is packed.
struct LaidOutStep {
  const StepProblem &problem;
  const StepPlaces &timeline;
  const StepSections &sections;
};

/// Looks for offsets of the shapes of `plan`'s layouts (frame instances, then
/// the scratch of each task, then task buffers) that are lower than `best`,
/// which it replaces, and ends when `goodPeak` is reached or `work` is spent.
/// `frames`: where the frame instances are if they are packed by themselves.
/// Layouts of scratch may become others of the same size or a little larger.
void packExactly(const LaidOutStep &step, const PackResult &frames,
                 int64_t goodPeak, int64_t work, StepPlan &plan,
                 PackResult &best);

} // namespace mf::memory

#endif // MF_MEMORY_EXACTPACKING_H
