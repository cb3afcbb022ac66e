//===- Program.h - The decoded form of a lowered step ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One training step as flat tables. Every engine (planning, execution, static
// verification, simulation) reads these instead of IR. There is one program for
// each stage, whatever the number of its ranks. Routines are stored once and
// run by calls, so the size does not grow with micro-batches times operators.
// References between tables are indices.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_PROGRAM_H
#define MF_PROGRAM_PROGRAM_H

#include "mf/Program/Certificate.h"
#include "mf/Program/Instruction.h"
#include "mf/Program/Mesh.h"
#include "mf/Program/TrainerMemory.h"
#include "mf/Support/SampleOrder.h"
#include <algorithm>
#include <map>
#include <variant>

namespace mf::program {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// The work that a stream is for.
enum class StreamKind : uint8_t {
  Compute,
  HostToDevice,
  DeviceToHost,
  Communication
};

struct ProgramStream {
  std::string name;
  StreamKind kind = StreamKind::Compute;
};

/// The contents of a static buffer.
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
  LossScale,
  /// The sum of the gradients of a rank's micro-batches, before it is reduced
  /// over ranks.
  Accumulated,
  /// The whole of a parameter that is sharded over ranks, gathered for the
  /// step.
  Gathered,
  /// The values that seed the random bits of each micro-batch: seed, step and
  /// micro-batch number.
  Draw,
  /// The running mean or the running sum of a parameter.
  Average,
  /// A moment that is stored as means of its rows or of its columns.
  Factor,
  /// A parameter in the narrower type in which layers read it, in addition to
  /// the parameter itself. Each step computes it anew, but it has its memory
  /// throughout the step.
  Rounded
};

/// The last role, for loops over all of them.
constexpr Role lastRole = Role::Rounded;

/// Returns the dialect's spelling, for example "first_moment".
llvm::StringRef getName(Role role);
/// Returns the role of a name, or none.
std::optional<Role> parseRole(llvm::StringRef name);

/// The value of a parameter, table or constant before the first step.
struct InitialValue {
  enum class Kind : uint8_t {
    Zeros,
    Ones,
    /// Normal distribution: N(0, value^2).
    Normal,
    /// Shape [sequence, head dimension]: cosine or sine of position * scale /
    /// value^(2i/d), or of position * scale * frequencies[i], times amplitude.
    /// The second half of the head dimension repeats the first half, unless
    /// there is a frequency for each element of it.
    RotaryCos,
    RotarySin,
    /// Shape [sequence, sequence]: `value` above the diagonal, else 0.
    CausalMask,
    /// All elements are `value`.
    Constant,
    /// Shape [heads]: the slope of each head. Shape [heads, sequence,
    /// sequence]: slope * (key - query).
    Alibi,
    /// Integers: element i is i * `value`.
    Coordinate,
    Uniform,
    /// Shape [rows, columns]: row * `value` + column * `scale`.
    IndexSum,
    /// Shape [tokens, choices]: (token + choice) modulo `value`.
    TokenExperts,
    /// Shape [n^2 + 2n]: n times -ln 3, n times 0, and 5 (identity - 1).
    StreamMixing,
    /// Shape [size, size], a power of two: Sylvester's matrix of 1 and -1.
    Hadamard
  };
  Kind kind = Kind::Zeros;
  double value = 0;
  double scale = 1;
  double amplitude = 1;
  std::vector<double> frequencies;
};

/// Returns the name of a kind for emitted programs, for example "rotary_cos".
llvm::StringRef getName(InitialValue::Kind kind);
/// Returns the kind of a name, or none.
std::optional<InitialValue::Kind> parseInitialKind(llvm::StringRef name);

/// The shard of a tensor that a rank holds: along dimension d, the part at the
/// rank's coordinate on `axes[d]`, whose first axis is outermost.
struct Slice {
  llvm::SmallVector<int64_t, 4> dims;
  std::vector<std::vector<std::string>> axes;
};

/// Returns whether statics of this role are computed anew in each step, so that
/// they need memory only from their first use in the step to their last.
bool isOfStep(Role role);

/// A named buffer that lives through the whole training or, for some roles, for
/// a part of each step.
struct Static {
  std::string name;
  Role role = Role::Parameter;
  /// The parameter that this parameter, gradient or moment belongs to, or the
  /// quantity that a report has. Empty for other roles.
  std::string of;
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
  int64_t offset = 0;
  std::optional<InitialValue> init;
  /// The name of the static, possibly on another stage, that this one is a copy
  /// of. Empty if it is no copy.
  std::string tied;
  /// The shard of a tensor that a rank holds. Empty if it holds the whole
  /// tensor.
  std::optional<Slice> slice;
  uint32_t location = 0;
};

/// A residual of a frame.
struct Slot {
  std::string name;
  TensorShape shape;
  int64_t bytes = 0;
  /// The offset from the start of the frame's part, in bytes.
  int64_t offset = 0;
  Space space = Space::Device;
  /// The index of the frame's part in the arena. 0 in host memory.
  uint32_t part = 0;
};

/// The residuals of one chunk and their places in a frame. A frame consists of
/// parts in the arena and is contiguous in host memory.
struct FrameLayout {
  std::string name;
  std::vector<Slot> slots;
  int64_t bytes = 0;
  int64_t hostBytes = 0;
  /// The offsets at which the parts begin, ascending; the first is 0.
  std::vector<int64_t> parts = {0};
  /// The values that the chunk's routines must compute, if the chunk has a
  /// certificate.
  std::optional<Certificate> computes;
  /// The index of the chunk's first layout. It differs from the own index only
  /// for another version of a chunk.
  uint32_t chunk = 0;
  uint32_t location = 0;

  /// Returns the index of the part that contains the offset, which must not be
  /// negative.
  uint32_t getPart(int64_t offset) const {
    return std::upper_bound(parts.begin(), parts.end(), offset) -
           parts.begin() - 1;
  }
  int64_t getPartBytes(uint32_t part) const {
    return (part + 1 < parts.size() ? parts[part + 1] : bytes) - parts[part];
  }
};

/// The memory of one chunk's residuals for one micro-batch.
struct Frame {
  uint32_t layout = 0;
  int64_t microBatch = 0;
  /// The offsets of the frame's parts in the arena.
  std::vector<int64_t> offsets;
  int64_t hostOffset = 0;
  uint32_t location = 0;

  /// Returns the address of a slot of the frame in the memory that holds it.
  int64_t getOffset(const Slot &slot) const {
    return (slot.space == Space::Device ? offsets[slot.part] : hostOffset) +
           slot.offset;
  }
};

/// Instructions that calls run, each on its own buffers.
struct Routine {
  std::string name;
  /// The number of buffers among the arguments. Events follow them.
  uint32_t numArguments = 0;
  uint32_t numEventArguments = 0;
  std::optional<uint32_t> layout;
  /// The size of the scratch memory that a call needs.
  int64_t scratchBytes = 0;
  /// True if the routine runs after all gradients are complete.
  bool updatesParameters = false;
  /// True if the routine recomputes values of a frame for the frame's backward.
  bool recomputes = false;
  /// True if the routine continues the task of the routine that was called
  /// before it on the same frame.
  bool continues = false;
  InstructionList body;
};

/// The program that all ranks of one pipeline stage run in a step. Sizes and
/// offsets are in bytes.
struct StageProgram {
  std::string name;
  int64_t stage = 0;
  std::vector<ProgramStream> streams;
  uint32_t computeStream = 0;
  std::vector<Static> statics;
  std::vector<FrameLayout> layouts;
  std::vector<Routine> routines;
  std::vector<Frame> frames;
  InstructionList step;
  /// The values that the step must leave, if it has a certificate.
  std::optional<StepCertificate> computes;
  int64_t arenaBytes = 0;
  int64_t hostBytes = 0;
  std::optional<int64_t> maxLiveBytes;
  std::optional<int64_t> hbmLimitBytes;
  /// What the trainer of the YAML holds, if it was counted.
  std::optional<trainer::TrainerPeak> trainerPeak;
  uint32_t location = 0;

  /// Returns the bytes that a limit of device memory is compared with: those
  /// that the trainer of the YAML holds or, if they were not counted, the
  /// arena.
  int64_t getLimitedBytes() const {
    return trainerPeak ? trainerPeak->moment.bytes.getTotal() : arenaBytes;
  }
};

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// A communicator, or a queue of messages between two ranks. One entry
/// represents all such groups of the mesh: each rank finds its own group by its
/// coordinates.
struct Channel {
  std::string name;
  /// True for a transfer, which has a sender and a receiver. A collective has a
  /// group.
  bool isTransfer = false;
  /// The group of a collective; the fields below are for transfers.
  Group group;
  /// A transfer goes from one stage to another or, within a stage, to the rank
  /// that is `shift` further along `axis`, with wrap-around.
  int64_t fromStage = 0;
  int64_t toStage = 0;
  std::string axis;
  int64_t shift = 0;

  /// Returns the ranks that use the channel together with `rank`, including
  /// `rank`: the sender and the receiver of a message that `rank` sends or
  /// receives, or the members of a collective in the order of summation.
  std::vector<int64_t> getMembers(const Mesh &mesh, int64_t rank,
                                  bool isSend = true) const;
};

/// A kernel with the types, shapes and attributes with which launches use it.
struct LaunchedKernel {
  KernelSpec spec;
  const KernelSignature *signature = nullptr;
  /// The floating-point operations of a launch, and the bytes that it reads and
  /// writes.
  int64_t flops = 0;
  int64_t bytes = 0;
  /// The location of the first launch.
  uint32_t location = 0;
};

/// A value of the learning-rate schedule, with the type that it has in the
/// YAML.
using ScheduleValue = std::variant<bool, int64_t, double, std::string>;

/// The `type` and the parameters of a learning-rate schedule, with the names of
/// MindSpore Transformers.
struct LearningRateRule {
  std::string type;
  std::map<std::string, ScheduleValue> parameters;
  /// The rules of parameter groups. If there are any, the learning rate of a
  /// step is a vector: the rate of this rule, followed by the rate of each
  /// group.
  std::vector<LearningRateRule> groups;
};

/// The factor by which losses are multiplied before backward, so that gradients
/// of low precision keep small values.
struct LossScale {
  /// The scale in the first step.
  float value = 1;
  /// If not 0, the scale adapts to overflows: an overflow divides it by
  /// `factor`, and `window` successive steps without overflow multiply it by
  /// `factor`.
  int64_t factor = 0;
  int64_t window = 0;

  bool isDynamic() const { return factor > 0; }
};

/// One training step: a program for each stage, run by all ranks of the stage.
struct Program {
  Mesh mesh;
  /// The program of each stage.
  std::vector<StageProgram> stages;
  std::vector<LaunchedKernel> kernels;
  std::vector<Channel> channels;
  int64_t microBatches = 0;
  int64_t microBatchSize = 0;
  int64_t sequenceLength = 0;
  int64_t vocabSize = 0;
  /// Negative if samples have no padding token.
  int64_t padTokenId = -1;
  int64_t ignoreIndex = -100;
  std::optional<LearningRateRule> lrSchedule;
  LossScale lossScale;
  SampleOrder sampleOrder = SampleOrder::Whole;
  /// True if the program is compiled kernel by kernel with fused vector
  /// operators (jit_level O1).
  bool graphKernelFusion = false;

  int64_t getNumRanks() const { return mesh.getNumRanks(); }
  /// Returns the program that a rank runs.
  const StageProgram &getStageOf(int64_t rank) const {
    return stages[mesh.getStage(rank)];
  }
};

} // namespace mf::program

#endif // MF_PROGRAM_PROGRAM_H
