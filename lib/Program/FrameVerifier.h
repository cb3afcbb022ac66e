//===- FrameVerifier.h - Do a frame's routines compute it? ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_FRAMEVERIFIER_H
#define MF_LIB_PROGRAM_FRAMEVERIFIER_H

#include "ChunkRun.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/StringMap.h"

namespace mf::program {

/// One use of a frame in the step: a call, or a copy of a slot to a buffer of
/// the step.
struct FrameEvent {
  /// Empty for a copy.
  std::optional<uint32_t> routine;
  /// The slot that is copied.
  uint32_t slot = 0;
  /// The buffers that it passes or writes, numbered in the order of the frame's
  /// events.
  std::vector<uint32_t> arguments;
  uint32_t location = 0;

  /// Returns whether both do the same, possibly at different positions.
  bool operator==(const FrameEvent &other) const {
    return routine == other.routine && slot == other.slot &&
           arguments == other.arguments;
  }
};

/// Returns the uses of each frame of a stage, in order.
std::vector<std::vector<FrameEvent>> findFrameEvents(const StageProgram &stage);

/// The number of times that a step adds to the gradient of each parameter.
using GradientCounts = llvm::StringMap<int64_t>;

/// Runs the routines of one frame on terms, and compares what they make with
/// the certificate of their chunk.
llvm::Error verifyFrame(const Program &program, const StageProgram &stage,
                        const StaticTerms &statics,
                        const GradientCounts &counts, const FrameLayout &layout,
                        llvm::ArrayRef<FrameEvent> events);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_FRAMEVERIFIER_H
