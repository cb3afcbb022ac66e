//===- Program.h - The decoded form of a lowered step ---------*- C++ -*-===//
//
// One training step of all ranks as flat tables: what every engine (execution,
// static verification, liveness, simulation) reads instead of IR. Routines are
// kept once and run by calls, so its size does not grow with micro-batches
// times operators. References between tables are indices.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_PROGRAM_H
#define MF_PROGRAM_PROGRAM_H

#include "mf/Kernels/Kernel.h"
#include "mf/Tensor/DType.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mf::program {

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Device memory (the arena) or pinned host memory.
enum class Space : uint8_t { Device, Host };

/// What an offset counts from: the rank's arena, its host memory, or, inside a
/// routine, the frame (its part in the arena or in host memory) or scratch
/// memory of the call or one of its arguments.
enum class Base : uint8_t { Device, Host, Frame, HostFrame, Scratch, Argument };

struct Address {
  Base base = Base::Device;
  /// The argument's number if `base` is Argument.
  uint32_t argument = 0;
  int64_t offset = 0;
};

enum class BufferKind : uint8_t { Static, Slot, Temporary, Message, Argument };

/// A buffer that an instruction list uses. Two operations that denote the same
/// memory for the same purpose (the same static, the same slot) share one.
struct Buffer {
  BufferKind kind = BufferKind::Temporary;
  /// Number of the static, slot or argument; temporaries and messages are
  /// counted through their list.
  uint32_t index = 0;
  /// Of a slot in the step: index into Rank::frames.
  uint32_t frame = 0;
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
  Address address;
  /// What errors and reports call it.
  std::string name;
  /// An entry of the table of locations.
  uint32_t location = 0;
};

/// `bytes` bytes of a buffer of the same instruction list, from `offset` on.
struct Operand {
  uint32_t buffer = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  TensorShape shape;
};

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// One kernel on the rank's compute stream. `kernel` is an index into
/// Program::kernels.
struct Launch {
  uint32_t kernel = 0;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  /// The operator of the model that it belongs to; may be empty.
  std::string cell;
  int64_t flops = 0;
};

/// Marks a point of a stream. Events are numbered through their list; each is
/// recorded once.
struct Record {
  uint32_t stream = 0;
  uint32_t event = 0;
};

/// An event of the step that a call records on the compute stream, behind
/// instruction `instruction` of its routine.
struct CallRecord {
  uint32_t instruction = 0;
  Record record;
};

/// One run of a routine; only in the step. `frame` and `scratch` are where the
/// routine's Frame and Scratch bases are in the arena.
struct Call {
  uint32_t routine = 0;
  std::vector<Operand> arguments;
  /// Index into Rank::frames.
  std::optional<uint32_t> frame;
  std::optional<int64_t> scratchOffset;
  std::optional<int64_t> microBatch;
  /// Events of the step that the routine waits for.
  std::vector<uint32_t> events;
  /// In the order of their instructions.
  std::vector<CallRecord> records;
};

/// `event` is one of the list or, if `isArgument`, the number of one that the
/// call passes.
struct Wait {
  uint32_t stream = 0;
  uint32_t event = 0;
  bool isArgument = false;
};

struct Copy {
  uint32_t stream = 0;
  Operand source;
  Operand target;
};

/// HcclSend or HcclRecv. `channel` is an index into Program::channels.
struct Transfer {
  uint32_t stream = 0;
  uint32_t channel = 0;
  Operand buffer;
  bool isSend = false;
};

struct AllReduce {
  uint32_t stream = 0;
  uint32_t channel = 0;
  Operand buffer;
};

struct Instruction {
  std::variant<Launch, Call, Record, Wait, Copy, Transfer, AllReduce> action;
  /// An entry of the table of locations that came with decoding.
  uint32_t location = 0;
};

/// What the host issues, in order.
struct InstructionList {
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
  uint32_t numEvents = 0;
};

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

enum class StreamKind : uint8_t {
  Compute,
  HostToDevice,
  DeviceToHost,
  Communication
};

struct Stream {
  std::string name;
  StreamKind kind = StreamKind::Compute;
};

/// What a static buffer holds.
enum class Role : uint8_t {
  Parameter,
  Table,
  Gradient,
  FirstMoment,
  SecondMoment,
  Constant,
  Tokens,
  Labels,
  LearningRate,
  StepNumber,
  Report,
  LossScale
};

/// The dialect's spelling: "first_moment".
llvm::StringRef getName(Role role);

/// The value of a parameter, table or constant before the first step.
struct InitialValue {
  enum class Kind : uint8_t {
    Zeros,
    Ones,
    /// N(0, value^2)
    Normal,
    /// [sequence, head dimension]: cosine or sine of position * scale /
    /// value^(2i/d), or times frequencies[i]; the half of frequencies is
    /// repeated twice
    RotaryCos,
    RotarySin,
    /// [sequence, sequence]: `value` above the diagonal, else 0
    CausalMask,
    /// `value` everywhere
    Constant,
    /// [heads]: the slope of each head; [heads, sequence, sequence]: slope *
    /// (key - query)
    Alibi
  };
  Kind kind = Kind::Zeros;
  double value = 0;
  double scale = 1;
  std::vector<double> frequencies;
};

/// A buffer that lives through the whole training.
struct Static {
  std::string name;
  Role role = Role::Parameter;
  /// The parameter that a parameter, gradient or moment belongs to, or the
  /// quantity of a report; empty where there is none.
  std::string of;
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
  int64_t offset = 0;
  std::optional<InitialValue> init;
  /// The name of the static, possibly of another rank, that this one is a copy
  /// of; empty where there is none.
  std::string tied;
  uint32_t location = 0;
};

struct Slot {
  std::string name;
  TensorShape shape;
  int64_t bytes = 0;
  int64_t offset = 0;
  Space space = Space::Device;
};

/// The residuals of one chunk and where they lie in a frame, which has a part
/// in the arena and one in host memory.
struct FrameLayout {
  std::string name;
  std::vector<Slot> slots;
  int64_t bytes = 0;
  int64_t hostBytes = 0;
};

/// The memory of one chunk's residuals for one micro-batch.
struct Frame {
  uint32_t layout = 0;
  int64_t microBatch = 0;
  int64_t offset = 0;
  int64_t hostOffset = 0;
  uint32_t location = 0;

  /// Where the frame's part in `space` begins.
  int64_t getOffset(Space space) const {
    return space == Space::Device ? offset : hostOffset;
  }
};

struct Routine {
  std::string name;
  /// Buffers; events come after them.
  uint32_t numArguments = 0;
  uint32_t numEventArguments = 0;
  std::optional<uint32_t> layout;
  /// Scratch memory that a call of it needs.
  int64_t scratchBytes = 0;
  InstructionList body;
};

/// The step of one rank. Sizes and offsets are bytes.
struct Rank {
  std::string name;
  std::vector<Stream> streams;
  uint32_t computeStream = 0;
  std::vector<Static> statics;
  std::vector<FrameLayout> layouts;
  std::vector<Routine> routines;
  std::vector<Frame> frames;
  InstructionList step;
  int64_t arenaBytes = 0;
  int64_t hostBytes = 0;
  std::optional<int64_t> maxLiveBytes;
  std::optional<int64_t> hbmLimitBytes;
  uint32_t location = 0;
};

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// A queue of messages from one rank to another, or a group that reduces.
/// `ranks` is {sender, receiver} or the members in order of summation.
struct Channel {
  std::string name;
  bool isAllReduce = false;
  std::vector<int64_t> ranks;
};

/// A value of the learning-rate schedule, as the YAML writes it.
using ScheduleValue = std::variant<bool, int64_t, double, std::string>;

/// `type` and parameters of the learning-rate schedule, named as MindSpore
/// Transformers names them.
struct LrSchedule {
  std::string type;
  std::map<std::string, ScheduleValue> parameters;
};

/// What losses are multiplied with before backward.
struct LossScale {
  /// In the first step.
  float value = 1;
  /// If not 0, the scale follows overflows: an overflow divides it by `factor`,
  /// `window` steps in a row without one multiply it.
  int64_t factor = 0;
  int64_t window = 0;

  bool isDynamic() const { return factor > 0; }
};

/// All ranks of one training step. Rank r is `ranks[r]`.
struct Program {
  std::vector<Rank> ranks;
  std::vector<KernelSpec> kernels;
  /// A location of each kernel's first launch.
  std::vector<uint32_t> kernelLocations;
  std::vector<Channel> channels;
  int64_t microBatches = 0;
  int64_t microBatchSize = 0;
  int64_t sequenceLength = 0;
  int64_t vocabSize = 0;
  /// Negative if there is none.
  int64_t padTokenId = -1;
  int64_t ignoreIndex = -100;
  std::optional<LrSchedule> lrSchedule;
  LossScale lossScale;
};

} // namespace mf::program

#endif // MF_PROGRAM_PROGRAM_H
