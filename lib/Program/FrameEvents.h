//===- FrameEvents.h - What the step does with each frame -------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_FRAMEEVENTS_H
#define MF_LIB_PROGRAM_FRAMEEVENTS_H

#include "mf/Program/Program.h"

namespace mf::program {

/// Something that the step does with a frame: a call, or a copy of a slot to a
/// buffer of the step.
struct FrameEvent {
  /// None for a copy.
  std::optional<uint32_t> routine;
  /// The slot that is copied.
  uint32_t slot = 0;
  /// The buffers that it passes or writes, numbered through the frame's events.
  std::vector<uint32_t> arguments;
  uint32_t location = 0;

  /// Whether both do the same; they may stand in different places.
  bool operator==(const FrameEvent &other) const {
    return routine == other.routine && slot == other.slot &&
           arguments == other.arguments;
  }
};

/// For each frame of a stage what the step does with it, in order.
std::vector<std::vector<FrameEvent>> findFrameEvents(const StageProgram &stage);

/// The bytes of a routine's argument; 0 if the routine does not use it.
int64_t getArgumentBytes(const Routine &routine, uint32_t argument);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_FRAMEEVENTS_H
