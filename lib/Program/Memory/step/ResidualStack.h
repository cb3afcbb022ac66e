//===- ResidualStack.h - Residuals of a frame, in parts ---------*- C++ -*-===//
//
// A frame that holds its residuals and nothing more: each at its own offset,
// with those that come and go together in one part.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_RESIDUALSTACK_H
#define MF_MEMORY_RESIDUALSTACK_H

#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// Orders in which the residuals are stacked from the bottom of the frame up.
/// Births ascending leave one hole, at the top, all through forward; deaths
/// descending do so in backward.
enum class StackOrder { Birth, Death, Life };

/// A part that is there from the first to the last instruction of all phases.
FramePart getWholeFrame(const StepProblem &problem, const ResidualFrame &frame,
                        int64_t size);

/// Stacks the residuals, part by part. Residuals that do not live through all
/// phases come or go in `numSteps` steps; 0: the frame is one part.
ResidualFrameLayout stackResiduals(const StepProblem &problem,
                                   const ResidualFrame &frame, StackOrder order,
                                   int64_t numSteps);

} // namespace mf::memory

#endif // MF_MEMORY_RESIDUALSTACK_H
