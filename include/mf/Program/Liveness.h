//===- Liveness.h - Lifetimes of the buffers of a step ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Computes how long memory is needed. Planning places buffers by these
// lifetimes, and reports and memory debugging use the same ones.
//
// Time is that of the compute stream: the calls of the step in order, and
// within each call the moments of its routine. A moment is an instruction that
// uses memory, or one at which the compute stream waits, because memory that
// another stream uses becomes free there. Memory that another stream uses is
// live from the last moment that is known to be over when the use may start, to
// the first moment at which the compute stream knows that the use is over.
// Routines are analysed once, so the analysis takes time in proportion to calls
// plus instructions, not to their product.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_LIVENESS_H
#define MF_PROGRAM_LIVENESS_H

#include "mf/Program/Program.h"
#include <array>

namespace mf::program {

//===----------------------------------------------------------------------===//
// Compact lifetimes
//===----------------------------------------------------------------------===//

/// The moments [begin, end) of a list at which a buffer is needed. `begin` is
/// -1 if it is never used.
struct MomentRange {
  int64_t begin = -1;
  int64_t end = -1;
  /// The last instruction that uses the buffer, and whether all instructions
  /// that use it are on the compute stream.
  uint32_t lastInstruction = 0;
  bool onlyCompute = true;

  bool isUsed() const { return begin >= 0; }
};

/// A buffer that another stream still uses when a routine ends.
struct OpenUse {
  uint32_t stream = 0;
  BufferKind kind = BufferKind::Argument;
  /// The number of the argument, slot or static.
  uint32_t index = 0;
};

/// Lifetimes within one run of a routine.
struct RoutineLiveness {
  /// The instruction at each moment.
  std::vector<uint32_t> instructions;
  /// The lifetimes of temporaries, arguments and slots, indexed as in the
  /// routine's buffers.
  std::vector<MomentRange> temporaries;
  std::vector<MomentRange> arguments;
  std::vector<MomentRange> slots;
  /// The lifetimes of the step's statics that the routine uses, by static.
  std::map<uint32_t, MomentRange> statics;
  /// Uses that the routine does not wait for. The memory of its temporaries is
  /// free at its end nevertheless.
  std::vector<OpenUse> open;

  /// Returns the number of moments of a call of this routine, at least one.
  int64_t getLength() const {
    return std::max<int64_t>(static_cast<int64_t>(instructions.size()), 1);
  }
};

/// A moment of a call. `call` is an index into the step's calls and may be one
/// past the last.
struct CallMoment {
  int64_t call = 0;
  int64_t moment = 0;

  bool operator<(const CallMoment &other) const {
    return std::tie(call, moment) < std::tie(other.call, other.moment);
  }
};

/// The lifetime [begin, end) of a message, or of a static that lives for a part
/// of the step only.
struct MessageRange {
  bool isUsed = false;
  CallMoment begin;
  CallMoment end;
  /// The position of the last use by a call.
  uint32_t lastPosition = 0;
  uint32_t lastInstruction = 0;
  /// True if only calls use the buffer, and only on the compute stream.
  bool onlyCompute = false;
  bool isExchanged = false;
  bool isCopied = false;
};

/// The lifetimes of all buffers of a stage's step.
struct StepLiveness {
  std::vector<RoutineLiveness> routines;
  /// The positions of the calls in the step, and the time at which each call
  /// begins. `starts` has the end of the step as an additional last entry.
  std::vector<uint32_t> calls;
  std::vector<int64_t> starts;
  /// The lifetimes of messages, by message.
  std::vector<MessageRange> messages;
  /// The lifetimes of statics, by static. Unused for statics that live
  /// throughout.
  std::vector<MessageRange> statics;
  /// For each layout, the slots that the step uses outside of calls.
  std::vector<std::vector<bool>> slotsOfStep;

  int64_t getTime(const CallMoment &moment) const {
    return starts[moment.call] + moment.moment;
  }
};

/// Computes the lifetimes of a stage's step. Offsets are not read, so the step
/// need not be planned.
StepLiveness computeLiveness(const StageProgram &stage);

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

/// The purposes of memory, which are the dialect's categories.
enum class BufferCategory : uint8_t {
  Parameter,
  Gradient,
  OptimizerState,
  Activation,
  Temporary,
  Communication,
  Input
};
constexpr size_t numCategories = 7;

/// Returns the dialect's spelling, for example "optimizer_state".
llvm::StringRef getName(BufferCategory category);

/// One buffer instance of a planned step. A residual has an instance in each
/// frame, a temporary one in each call.
struct Lifetime {
  BufferKind kind = BufferKind::Temporary;
  BufferCategory category = BufferCategory::Temporary;
  Space space = Space::Device;
  /// The number of the buffer in the InstanceTable of the stage.
  uint64_t instance = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  /// The lifetime in the time of StepLiveness. Statics live throughout, except
  /// for those that live for a part of the step, which count as messages.
  int64_t begin = 0;
  int64_t end = 0;
  /// The position in the step of the last call that uses the buffer, and the
  /// instruction in its routine. Only meaningful if no other stream uses the
  /// buffer.
  uint32_t lastPosition = 0;
  uint32_t lastInstruction = 0;
  bool onlyCompute = true;
};

/// Computes the lifetimes of all instances that the step uses, statics first.
/// `liveness` must be that of `stage`.
std::vector<Lifetime> computeLifetimes(const StageProgram &stage,
                                       const StepLiveness &liveness);
std::vector<Lifetime> computeLifetimes(const StageProgram &stage);

/// Returns for each time, up to the last end of a lifetime, the bytes of
/// `space` that are live. Sizes are counted without padding. Statics always
/// count.
std::vector<int64_t> computeBytesAlive(const std::vector<Lifetime> &lifetimes,
                                       Space space);

/// Bytes in use at one time.
struct MemoryUse {
  int64_t bytes = 0;
  std::array<int64_t, numCategories> byCategory{};
  /// The first time at which this use is reached.
  int64_t time = 0;
};

/// Returns the most bytes of `space` that are live at one time, counted as by
/// computeBytesAlive.
MemoryUse findPeak(const std::vector<Lifetime> &lifetimes, Space space);

/// Returns the highest end of a byte of `space` that the step uses, which is
/// the minimum size of an arena.
int64_t findExtent(const std::vector<Lifetime> &lifetimes, Space space);

} // namespace mf::program

#endif // MF_PROGRAM_LIVENESS_H
