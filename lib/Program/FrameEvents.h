//===- FrameEvents.h - Uses of frames in a step -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_FRAMEEVENTS_H
#define MF_LIB_PROGRAM_FRAMEEVENTS_H

#include "mf/Program/Program.h"

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

/// Returns the bytes of a routine's argument; 0 if the routine does not use it.
int64_t getArgumentBytes(const Routine &routine, uint32_t argument);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_FRAMEEVENTS_H
