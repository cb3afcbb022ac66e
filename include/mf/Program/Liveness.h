//===- Liveness.h - Lifetimes of the buffers of a step ----------*- C++ -*-===//
//
// The one place that knows how long memory is needed: planning places buffers
// by it, reports and memory debugging follow it.
//
// Time is that of the compute stream: the calls of the step in order, and the
// moments of each call's routine. A moment is an instruction that uses memory,
// or at which the compute stream waits, because there memory that another
// stream uses comes free. Memory that another stream uses is live from the last
// moment that is known to be over when the use may start, to the first at which
// the compute stream knows that the use is over. Routines are analysed once, so
// time grows with calls plus instructions, not with their product.
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

/// The moments [begin, end) of a list at which something is needed; begin is -1
/// if it is never used.
struct MomentRange {
  int64_t begin = -1;
  int64_t end = -1;
  /// The last instruction that uses it, and whether all that do are on the
  /// compute stream.
  uint32_t lastInstruction = 0;
  bool onlyCompute = true;

  bool isUsed() const { return begin >= 0; }
};

/// Lifetimes within one run of a routine.
struct RoutineLiveness {
  /// The instruction at each moment.
  std::vector<uint32_t> instructions;
  /// By number, as the routine's buffers count them.
  std::vector<MomentRange> temporaries;
  std::vector<MomentRange> arguments;
  std::vector<MomentRange> slots;
  /// Statics of the step that the routine uses, by number.
  std::map<uint32_t, MomentRange> statics;

  /// A call of it takes at least one moment.
  int64_t getLength() const {
    return std::max<int64_t>(static_cast<int64_t>(instructions.size()), 1);
  }
};

/// A moment of a call; `call` counts the step's calls and may be one past the
/// last.
struct CallMoment {
  int64_t call = 0;
  int64_t moment = 0;

  bool operator<(const CallMoment &other) const {
    return std::tie(call, moment) < std::tie(other.call, other.moment);
  }
};

/// [begin, end) of a message, or of a static that is of the step.
struct MessageRange {
  bool isUsed = false;
  CallMoment begin;
  CallMoment end;
  /// Place of its last use by a call.
  uint32_t lastPosition = 0;
  uint32_t lastInstruction = 0;
  /// A call uses it, only calls do, and in them only the compute stream.
  bool onlyCompute = false;
  bool isExchanged = false;
  bool isCopied = false;
};

/// The lifetimes of a stage's step.
struct StepLiveness {
  /// The lifetimes in each routine.
  std::vector<RoutineLiveness> routines;
  /// The positions of the calls in the step, and the time at which each begins;
  /// behind them the time of the step's end.
  std::vector<uint32_t> calls;
  std::vector<int64_t> starts;
  /// Lifetimes of messages, by number.
  std::vector<MessageRange> messages;
  /// By number; not used where they live throughout.
  std::vector<MessageRange> statics;
  /// Slots of a layout that the step uses outside of calls, by layout.
  std::vector<std::vector<bool>> slotsOfStep;

  int64_t getTime(const CallMoment &moment) const {
    return starts[moment.call] + moment.moment;
  }
};

/// Needs no plan: offsets are not looked at.
StepLiveness computeLiveness(const StageProgram &stage);

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

/// Purposes of memory; the dialect's categories.
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

/// The dialect's spelling: "optimizer_state".
llvm::StringRef getName(BufferCategory category);

/// One buffer instance of a planned step: each frame's residuals, each call's
/// temporaries.
struct Lifetime {
  BufferKind kind = BufferKind::Temporary;
  BufferCategory category = BufferCategory::Temporary;
  Space space = Space::Device;
  /// Its number in the InstanceTable of the stage.
  uint64_t instance = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  /// In the time of StepLiveness. Statics live throughout; those that are of
  /// the step are messages.
  int64_t begin = 0;
  int64_t end = 0;
  /// Place in the step of the last call that uses it, and in its routine; of
  /// use if no other stream uses it.
  uint32_t lastPosition = 0;
  uint32_t lastInstruction = 0;
  bool onlyCompute = true;
};

/// The lifetimes of all instances that the step uses, statics first. `liveness`
/// is the stage's.
std::vector<Lifetime> computeLifetimes(const StageProgram &stage,
                                       const StepLiveness &liveness);
std::vector<Lifetime> computeLifetimes(const StageProgram &stage);

/// By time, up to the last end of a lifetime: the bytes of `space` that are
/// alive, buffers counted without padding. Statics count always.
std::vector<int64_t> computeBytesAlive(const std::vector<Lifetime> &lifetimes,
                                       Space space);

/// Bytes in use at one time.
struct MemoryUse {
  int64_t bytes = 0;
  std::array<int64_t, numCategories> byCategory{};
  /// The first time at which it is reached.
  int64_t time = 0;
};

/// The most bytes of `space` alive at one time, as computeBytesAlive counts.
MemoryUse findPeak(const std::vector<Lifetime> &lifetimes, Space space);

/// The end of the furthest byte of `space` that the step uses: the least size
/// of an arena.
int64_t findExtent(const std::vector<Lifetime> &lifetimes, Space space);

} // namespace mf::program

#endif // MF_PROGRAM_LIVENESS_H
