//===- ResidualStack.h - Residuals of a frame, in parts ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A frame that holds only its residuals, each at its own offset. Residuals that
// are born and die together are in one part.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_RESIDUALSTACK_H
#define MF_LIB_PROGRAM_MEMORY_STEP_RESIDUALSTACK_H

#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// The orders in which the residuals are stacked from the bottom of the frame
/// up. With ascending births there is a single hole, at the top, throughout
/// forward; with descending deaths there is one in backward.
enum class StackOrder { Birth, Death };

/// Returns a part that is in the arena from the first to the last instruction
/// of all phases.
FramePart getWholeFrame(const StepProblem &problem, const FrameMemory &frame,
                        int64_t size);

/// Stacks the residuals, part by part. Residuals that do not live through all
/// phases are divided into `numGroups` groups; 0 means that the frame is one
/// part.
FrameLayout stackResiduals(const StepProblem &problem, const FrameMemory &frame,
                           StackOrder order, int64_t numGroups);

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_RESIDUALSTACK_H
