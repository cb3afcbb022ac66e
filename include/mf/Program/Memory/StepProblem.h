//===- StepProblem.h - Memory of a training step --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The buffers that one pipeline stage needs in memory during a training step,
// in a form whose size does not grow with micro-batches times operators.
//
// A stage executes an ordered list of tasks on one compute stream. A task runs
// a routine (forward or backward of a chunk, update, ...), which is a straight
// list of instructions. Routines that run one after the other on the same
// micro-batch (forward, then backward) share a frame: the residuals, each born
// at an instruction of one routine and dead at an instruction of a later one.
// The frame is instantiated once per micro-batch. Its layout is the same each
// time.
//
//   tasks     F0        F1        B0        F2        B1       ...
//   frame 0   |--born--------------dead-|
//   frame 1             |--born-------------------------dead-|
//
// Instruction numbers count from 0 within a routine; all ranges are half-open.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_STEPPROBLEM_H
#define MF_PROGRAM_MEMORY_STEPPROBLEM_H

#include "mf/Support/Alignment.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace mf::memory {

/// Identifies what a part of a problem represents, for the code that built the
/// problem. The planner passes it on and never reads it.
using PartId = uint32_t;

/// The PartId of a part that represents nothing.
inline constexpr PartId noPart = ~PartId{0};

/// A buffer that lives inside one routine, during instructions [begin, end).
struct Temporary {
  std::string name;
  int64_t size = 0;
  int64_t begin = 0;
  int64_t end = 0;
  PartId id = noPart;
};

/// A straight list of `length` instructions with its temporaries.
struct RoutineMemory {
  std::string name;
  int64_t length = 0;
  std::vector<Temporary> temporaries;
};

/// A buffer that lives from instruction `birth` of the frame's phase
/// `birthPhase` until before instruction `death` of its later phase
/// `deathPhase`. If `death` is 0, no instruction of that phase needs it.
struct Residual {
  std::string name;
  int64_t size = 0;
  int64_t birthPhase = 0;
  int64_t birth = 0;
  int64_t deathPhase = 1;
  int64_t death = 0;
  /// The layer of the model that the residual belongs to, if any.
  std::optional<int64_t> layer = std::nullopt;
  PartId id = noPart;
};

/// A frame: the residuals that the routines of a chunk keep for one another.
/// `phases` are the indices of the routines that share it, in the order in
/// which a micro-batch runs them: two for forward and backward, three if weight
/// gradients are computed in a separate phase.
struct FrameMemory {
  std::string name;
  std::vector<int64_t> phases;
  std::vector<Residual> residuals;
  PartId id = noPart;
};

/// One run of a routine. `instance` (a micro-batch, or any other unique number)
/// selects the instance of the routine's frame. It is ignored for a routine
/// without a frame.
struct TaskMemory {
  int64_t routine = 0;
  int64_t instance = 0;
  PartId id = noPart;
};

/// An instruction of a task; `task` may be one past the last task.
struct StepMoment {
  int64_t task = 0;
  int64_t instruction = 0;

  bool operator<(const StepMoment &other) const {
    return std::tie(task, instruction) <
           std::tie(other.task, other.instruction);
  }
  bool operator==(const StepMoment &other) const {
    return task == other.task && instruction == other.instruction;
  }
};

/// A buffer that lives across tasks in [begin, end), such as a message between
/// stages or a value that is copied to or from the host. The whole of tasks a
/// to b is {a, 0} to {b + 1, 0}.
struct TaskBuffer {
  std::string name;
  int64_t size = 0;
  StepMoment begin;
  StepMoment end;
  PartId id = noPart;
};

/// A buffer that lives throughout the step: a parameter, a gradient or
/// optimizer state.
struct PersistentBuffer {
  std::string name;
  int64_t size = 0;
  PartId id = noPart;
};

/// The largest number of bytes alive at one instruction of one task.
struct StepLiveBound {
  int64_t bytes = 0;
  StepMoment moment;
};

/// A buffer that is live at some moment. `instance` is the micro-batch of a
/// residual, or of a temporary of a routine with a frame; otherwise -1.
struct LiveBuffer {
  enum class Kind { Persistent, TaskLevel, Residual, Temporary };
  Kind kind;
  /// The name of the routine or frame that it belongs to. Empty for the other
  /// kinds.
  llvm::StringRef owner;
  llvm::StringRef name;
  int64_t instance;
  /// Bytes, rounded up to the alignment.
  int64_t size;
  /// The PartId of the buffer in the problem.
  PartId id;
};

/// The problem. Sizes are in bytes. Every offset is a multiple of `alignment`,
/// and bounds and plans round every size up to it.
struct StepProblem {
  std::vector<RoutineMemory> routines;
  std::vector<FrameMemory> frames;
  std::vector<TaskMemory> tasks;
  std::vector<TaskBuffer> taskBuffers;
  std::vector<PersistentBuffer> persistentBuffers;
  int64_t alignment = deviceBufferAlignment;

  /// Checks that the problem is well-formed: ranges are within their routines,
  /// sizes are not negative and their sum does not overflow, every routine is
  /// in at most one phase of one frame, and every frame instance runs each of
  /// its phases once, in order. The error names the first broken rule.
  llvm::Error check() const;

  /// Returns the max-live bound of the step with all tasks expanded: no arena
  /// can be smaller. Takes time in proportion to tasks plus instructions, not
  /// to their product. The problem must be well-formed.
  StepLiveBound maxLive() const;

  /// Returns the buffers that are live at `moment`, largest first. At the
  /// moment of maxLive(), their sizes sum up to its bytes.
  std::vector<LiveBuffer> liveAt(StepMoment moment) const;

  int64_t alignedSize(int64_t size) const {
    return (size + alignment - 1) / alignment * alignment;
  }
};

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_STEPPROBLEM_H
