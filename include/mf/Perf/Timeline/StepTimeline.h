//===- StepTimeline.h - Spans of streams and tasks in a step ----*- C++ -*-===//
//
// One training step in time, simulated or executed: the form from which the
// table, the report, traces, profiles and the page are made, so that both can
// lie side by side. Times are seconds from the begin of the step.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TIMELINE_STEPTIMELINE_H
#define MF_TIMELINE_STEPTIMELINE_H

#include "mf/Pipeline/Schedule.h"
#include "mf/Program/Program.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::timeline {

/// The work of a stream in a span.
enum class Category : uint8_t {
  Kernel,
  Collective,
  /// A message between stages, from when both sides are there.
  Send,
  Receive,
  CopyToHost,
  CopyToDevice,
  /// A collective holds up the device's computing.
  Held
};

/// The work that spans stand for. Spans that are alike share one.
struct Activity {
  Category category = Category::Kernel;
  /// The kernel ("aclnnMatmul"), or "all_gather", "send", "copy".
  std::string name;
  /// The kind of work: a kernel's kind ("matmul"), the collective and its
  /// communicator ("all_gather over mp"), "send", "receive", "d2h", "h2d".
  std::string kind;
  /// The operator of the model; may be empty.
  std::string cell;
  Engine engine = Engine::Vector;
  int64_t flops = 0;
  /// Read and written by a kernel; of the message, copy or collective.
  int64_t bytes = 0;
  /// The operands of a kernel.
  std::vector<TensorShape> inputs, outputs;
  /// The networks of the target whose links carry a message or collective
  /// ("hccs", "roce"); empty if they are not known.
  std::vector<std::string> networks;
  /// The ranks that take part in the shown rank's collective or message; empty
  /// if they are not known. Rates of links can only be fitted to profiles that
  /// give them.
  std::vector<int64_t> ranks;
};

/// Something that a stream does without a break. Spans of a stream are in order
/// and do not overlap.
struct Span {
  double start = 0;
  double end = 0;
  /// Index into StepTimeline::activities.
  uint32_t activity = 0;
  /// Index into StageTimeline::tasks, or -1.
  int32_t task = -1;
};

struct StreamTimeline {
  std::string name;
  program::StreamKind kind = program::StreamKind::Compute;
  std::vector<Span> spans;
};

/// A phase of a chunk for a micro-batch, from its first kernel to its last.
struct TaskSpan {
  schedule::Phase phase = schedule::Phase::Forward;
  int32_t chunk = 0;
  int32_t microBatch = 0;
  double start = 0;
  double end = 0;
};

/// Bytes alive in the arena from `time` on.
struct MemoryPoint {
  double time = 0;
  int64_t bytes = 0;
};

/// A span of a stream of a stage.
struct SpanId {
  uint32_t stage = 0;
  uint32_t stream = 0;
  uint32_t span = 0;
};

/// A message: where it is sent and received.
struct Flow {
  SpanId from, to;
};

/// How a stage spends the step on its compute stream; the times add up to the
/// step.
struct StageSummary {
  /// A kernel runs.
  double busy = 0;
  /// Nothing runs and nothing is under way: waiting for other stages, or behind
  /// the stage's end.
  double bubble = 0;
  /// No kernel runs but communication does, or it holds up the device.
  double exposedCommunication = 0;
  /// Only copies between device and host run.
  double stall = 0;
};

/// The work of the rank that stands for a stage. All ranks of the stage do the
/// same.
struct StageTimeline {
  int64_t stage = 0;
  /// The rank that is shown.
  int64_t rank = 0;
  std::vector<StreamTimeline> streams;
  uint32_t computeStream = 0;
  std::vector<TaskSpan> tasks;
  std::vector<MemoryPoint> memory;
  /// Size of the arena, as planned and used.
  int64_t peakBytes = 0;
  int64_t hostBytes = 0;
  int64_t limitBytes = 0;
  /// At the peak, by memory category: "parameter", "gradient",
  /// "optimizer_state", "activation", ...
  std::map<std::string, int64_t> bytesByCategory;
  /// Seconds of streams' work by Activity::kind, over the step.
  std::map<std::string, double> secondsByKind;
  /// Floating-point operations that the cube does in the step, recomputed ones
  /// too, and those of the model: forwards and the gradients that backwards
  /// make, which with all weights trained is three times the forwards. Both
  /// count causal attention in full, as published utilizations do.
  int64_t hardwareFlops = 0;
  int64_t modelFlops = 0;
  double end = 0;
};

/// A stretch of the critical path.
struct CriticalShare {
  /// Activity::kind, "bubble" or "host".
  std::string kind;
  double seconds = 0;
};

/// Rates per second that lower bounds of kernels are computed with.
struct BoundRates {
  /// The rate of large products of matrices, by the type of their elements.
  std::map<DType, double> flopsPerSecond;
  /// Read and written together, where memory streams.
  double bytesPerSecond = 0;
  /// Where they come from: "measured on 2 threads with AVX2", "target
  /// atlas-800t-a2".
  std::string source;
};

struct StepTimeline {
  /// The file of the program.
  std::string program;
  bool isSimulated = false;
  /// The target's name; empty for an execution without one.
  std::string target;
  std::vector<Activity> activities;
  std::vector<StageTimeline> stages;
  std::vector<Flow> flows;
  /// Time of the whole step.
  double seconds = 0;
  int64_t numRanks = 1;
  int64_t microBatches = 0;
  /// Tokens of all ranks.
  int64_t tokens = 0;
  /// The peak of a device's cube, in bf16; 0 if it is not known.
  double peakFlopsPerSecond = 0;
  /// The parts of the step's time, largest first, which add up to `seconds`.
  /// Empty for executions.
  std::vector<CriticalShare> criticalPath;
  /// By the path of a number of the target: how the step's time changes with
  /// its logarithm, in seconds. Empty for executions.
  std::map<std::string, double> sensitivity;
  /// None if kernels are not to be shown beside their lower bounds
  /// (KernelTable.h).
  std::optional<BoundRates> rates;
};

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

struct StepSummary {
  std::vector<StageSummary> stages;
  double tokensPerSecondPerNpu = 0;
  /// Shares of the peak; 0 if it is not known.
  double modelFlopsUtilization = 0;
  double hardwareFlopsUtilization = 0;
};

StepSummary summarize(const StepTimeline &timeline);

/// Takes time linear in the stage's spans.
StageSummary summarizeStage(const StepTimeline &timeline,
                            const StageTimeline &stage);

} // namespace mf::timeline

#endif // MF_TIMELINE_STEPTIMELINE_H
