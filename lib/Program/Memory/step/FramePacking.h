//===- FramePacking.h - Layout of frames and scratch ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The layout of one chunk's buffers: its residuals in the frame, its
// temporaries in holes of the frame or in scratch.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_FRAMEPACKING_H
#define MF_LIB_PROGRAM_MEMORY_STEP_FRAMEPACKING_H

#include "FrameInstances.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// The layouts of a frame and of the routines that are its phases.
struct ChunkLayout {
  PlannedFrame frame;
  std::vector<RoutineLayout> phases;
};

/// The elementary operations to spend on one packing.
struct PackEffort {
  int64_t heuristicWork = 0;
  int64_t searchWork = 0;
  /// The bytes by which a packing may exceed its bound.
  int64_t acceptableExcess = 0;
  /// A cache of packings; may be null.
  PackMemo *memo = nullptr;
};

/// Makes a layout in which the frame holds only the residuals, so that many
/// instances can be live at little cost. Temporaries are placed in holes or
/// scratch. Minimizes the largest scratch of all phases. With three phases,
/// residuals that are born or die in the second one are divided into
/// `numGroups` groups; 0 means that the frame is one part.
ChunkLayout packSeparately(const StepProblem &problem, const FrameMemory &frame,
                           int64_t numGroups, const PackEffort &effort);

/// Makes a layout in which residuals and temporaries of all phases share one
/// region, the frame. This is good if at most one frame is live at a time.
ChunkLayout packTogether(const StepProblem &problem, const FrameMemory &frame,
                         const PackEffort &effort);

/// Makes the layout of a routine without a frame. All of its temporaries are in
/// scratch.
RoutineLayout packRoutine(const StepProblem &problem,
                          const RoutineMemory &routine,
                          const PackEffort &effort);

/// Makes another layout of a routine of `plan`, in which the buffers that end
/// last are lowest in scratch. Returns the existing layout if scratch would
/// become larger.
RoutineLayout packByEnd(const StepProblem &problem,
                        const FrameInstances &instances, const StepPlan &plan,
                        int64_t routine);

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_FRAMEPACKING_H
