//===- FramePacking.h - Layout of frames and scratch ----------*- C++ -*-===//
//
// The layout of one chunk's buffers: its residuals in the frame, its
// temporaries in holes of the frame or in scratch.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_FRAMEPACKING_H
#define MF_MEMORY_FRAMEPACKING_H

#include "StepPlaces.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::memory {

/// A frame and the routines that are its phases, laid out.
struct ChunkLayout {
  ResidualFrameLayout frame;
  std::vector<RoutineLayout> phases;
};

/// Elementary steps to spend on one packing.
struct PackEffort {
  int64_t heuristicWork = 0;
  int64_t searchWork = 0;
  /// Bytes by which a packing may stay above its bound.
  int64_t acceptableExcess = 0;
  /// Where the same packing may have been made before; may be null.
  PackMemo *memo = nullptr;
};

/// Makes a layout in which the frame holds the residuals and nothing more, so
/// that many instances can be live at little cost; temporaries go to holes or
/// scratch. Minimizes the largest scratch of all phases. With three phases,
/// residuals that come or go in the second do so in `numSteps` steps; 0: the
/// frame is one part.
ChunkLayout packSeparately(const StepProblem &problem,
                           const ResidualFrame &frame, int64_t numSteps,
                           const PackEffort &effort);

/// Layout in which residuals and temporaries of all phases share one region,
/// the frame. Good where at most one frame is alive at a time.
ChunkLayout packTogether(const StepProblem &problem, const ResidualFrame &frame,
                         const PackEffort &effort);

/// Layout of a routine without frame: all in scratch.
RoutineLayout packRoutine(const StepProblem &problem,
                          const RoutineMemory &routine,
                          const PackEffort &effort);

/// Another layout of a routine of `plan`, in which the buffers that end last
/// are lowest in scratch. As it was if scratch would become larger.
RoutineLayout packByEnd(const StepProblem &problem, const StepPlaces &timeline,
                        const StepPlan &plan, int64_t routine);

} // namespace mf::memory

#endif // MF_MEMORY_FRAMEPACKING_H
