//===- Program.h - The decoded form of a lowered step ---------*- C++ -*-===//
//
// One training step as flat tables: what every engine (planning, execution,
// static verification, simulation) reads instead of IR. There is one program
// for each stage, whatever the number of its ranks. Routines are kept once and
// run by calls, so its size does not grow with micro-batches times operators.
// References between tables are indices.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_PROGRAM_H
#define MF_PROGRAM_PROGRAM_H

#include "mf/Program/Certificate.h"
#include "mf/Program/Instruction.h"
#include "mf/Program/Mesh.h"
#include "mf/Support/SampleOrder.h"
#include <algorithm>
#include <map>
#include <variant>

namespace mf::program {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

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
  /// The sum of the gradients of a rank's micro-batches, before ranks share out
  /// the sum over ranks.
  Accumulated,
  /// A parameter that ranks share out, put together for the step.
  Gathered,
  /// For each micro-batch the values that random bits depend on: seed, step and
  /// number.
  Draw,
  /// The running mean or sum of a parameter.
  Average,
  /// A moment as means of its rows or of its columns.
  Factor
};

/// The last one.
constexpr Role lastRole = Role::Factor;

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
    /// value^(2i/d), or times frequencies[i], times amplitude; the half of
    /// frequencies is repeated twice
    RotaryCos,
    RotarySin,
    /// [sequence, sequence]: `value` above the diagonal, else 0
    CausalMask,
    /// `value` everywhere
    Constant,
    /// [heads]: the slope of each head; [heads, sequence, sequence]: slope *
    /// (key - query)
    Alibi,
    /// integers: element i is i * `value`
    Coordinate,
    Uniform
  };
  Kind kind = Kind::Zeros;
  double value = 0;
  double scale = 1;
  double amplitude = 1;
  std::vector<double> frequencies;
};

/// The part of a whole tensor that a rank holds: along dimension d, the part at
/// the rank's coordinate on `axes[d]`, the first of which is outermost.
struct Slice {
  llvm::SmallVector<int64_t, 4> dims;
  std::vector<std::vector<std::string>> axes;
};

/// Whether each step makes the contents of a static of this role anew: it needs
/// memory from its first use in the step to its last.
bool isOfStep(Role role);

/// A buffer with a name, that lives through the whole training or, by its role,
/// for a part of each step.
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
  /// The name of the static, possibly of another stage, that this one is a copy
  /// of; empty where there is none.
  std::string tied;
  /// The part of a tensor that a rank holds; none if it holds the whole.
  std::optional<Slice> slice;
  uint32_t location = 0;
};

struct Slot {
  std::string name;
  TensorShape shape;
  int64_t bytes = 0;
  /// Offset from the begin of the part.
  int64_t offset = 0;
  Space space = Space::Device;
  /// The part of the frame in the arena; 0 in host memory.
  uint32_t part = 0;
};

/// The residuals of one chunk and where they lie in a frame, which is in parts
/// in the arena and as a whole in host memory.
struct FrameLayout {
  std::string name;
  std::vector<Slot> slots;
  int64_t bytes = 0;
  int64_t hostBytes = 0;
  /// The offsets at which the parts begin, ascending; the first is 0.
  std::vector<int64_t> parts = {0};
  /// The values that the chunk's routines have to compute, if it says so.
  std::optional<Certificate> computes;
  uint32_t location = 0;

  /// The part that has the offset, which is not negative.
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
  /// Offsets of the frame's parts.
  std::vector<int64_t> offsets;
  int64_t hostOffset = 0;
  uint32_t location = 0;

  /// The address of a slot of the frame in its memory.
  int64_t getOffset(const Slot &slot) const {
    return (slot.space == Space::Device ? offsets[slot.part] : hostOffset) +
           slot.offset;
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
  /// It runs once the gradients are complete.
  bool updatesParameters = false;
  /// It makes values of a frame again for the backward of the frame.
  bool recomputes = false;
  InstructionList body;
};

/// The program that all ranks of one pipeline stage run in a step. Sizes and
/// offsets are bytes.
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
  int64_t arenaBytes = 0;
  int64_t hostBytes = 0;
  std::optional<int64_t> maxLiveBytes;
  std::optional<int64_t> hbmLimitBytes;
  uint32_t location = 0;
};

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// A communicator, or a queue of messages between two ranks. One entry stands
/// for all such groups of the mesh: a rank finds its own by coordinate.
struct Channel {
  std::string name;
  /// A transfer has a sender and a receiver, a collective a group.
  bool isTransfer = false;
  /// The group of a collective; the fields below are for transfers.
  Group group;
  /// A transfer goes from stage to stage, or within a stage `step` further
  /// along `axis`, around it.
  int64_t fromStage = 0;
  int64_t toStage = 0;
  std::string axis;
  int64_t step = 0;

  /// The ranks that use it together with `rank`, which is one of them: sender
  /// and receiver of a message that `rank` sends or receives, or the members in
  /// the order of summation.
  std::vector<int64_t> getMembers(const Mesh &mesh, int64_t rank,
                                  bool isSend = true) const;
};

/// A kernel with its types, shapes and attributes, as launches use it.
struct LaunchedKernel {
  KernelSpec spec;
  const KernelSignature *signature = nullptr;
  /// Floating-point operations of a launch, and bytes that it reads and writes.
  int64_t flops = 0;
  int64_t bytes = 0;
  /// The place of the first launch.
  uint32_t location = 0;
};

/// A value of the learning-rate schedule, as the YAML writes it.
using ScheduleValue = std::variant<bool, int64_t, double, std::string>;

/// `type` and parameters of the learning-rate schedule, named as MindSpore
/// Transformers names them.
struct LearningRateRule {
  std::string type;
  std::map<std::string, ScheduleValue> parameters;
  /// The rules of groups of parameters. The learning rate of a step is then a
  /// vector: that of this rule, then that of each group.
  std::vector<LearningRateRule> groups;
};

/// The factor on losses before backward, by which gradients of low precision
/// keep their small values.
struct LossScale {
  /// The scale in the first step.
  float value = 1;
  /// If not 0, the scale follows overflows: an overflow divides it by `factor`,
  /// `window` steps in a row without one multiply it.
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
  /// Negative if there is none.
  int64_t padTokenId = -1;
  int64_t ignoreIndex = -100;
  std::optional<LearningRateRule> lrSchedule;
  LossScale lossScale;
  SampleOrder sampleOrder = SampleOrder::Whole;
  /// Compiled kernel by kernel with vector operators fused (jit_level O1).
  bool graphKernelFusion = false;

  int64_t getNumRanks() const { return mesh.getNumRanks(); }
  /// The program that a rank runs.
  const StageProgram &getStageOf(int64_t rank) const {
    return stages[mesh.getStage(rank)];
  }
};

} // namespace mf::program

#endif // MF_PROGRAM_PROGRAM_H
