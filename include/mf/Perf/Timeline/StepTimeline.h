//===- StepTimeline.h - Spans of streams and tasks in a step ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The times of one training step, simulated or executed. Tables, reports,
// traces, profiles and pages are made from this form, so that simulations and
// executions can be compared. Times are in seconds from the start of the step.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_TIMELINE_STEPTIMELINE_H
#define MF_PERF_TIMELINE_STEPTIMELINE_H

#include "mf/Pipeline/Schedule.h"
#include "mf/Program/Program.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mf::timeline {

/// The kind of work of a stream in a span.
enum class Category : uint8_t {
  Kernel,
  Collective,
  /// A message between stages, from the time at which both sides have arrived.
  Send,
  Receive,
  CopyToHost,
  CopyToDevice
};

/// The work that spans represent. Equal spans share one activity.
struct Activity {
  Category category = Category::Kernel;
  /// The kernel, for example "aclnnMatmul", or "all_gather", "send", "copy".
  std::string name;
  /// The kind of work: a kernel's kind ("matmul"), the collective and its
  /// communicator ("all_gather over mp"), "send", "receive", "d2h" or "h2d".
  std::string kind;
  /// The operator of the model; may be empty.
  std::string cell;
  Engine engine = Engine::Vector;
  int64_t flops = 0;
  /// The bytes that a kernel reads and writes, or the size of a message, copy
  /// or collective.
  int64_t bytes = 0;
  /// The operands of a kernel.
  std::vector<TensorShape> inputs, outputs;
  /// The networks of the target whose links carry a message or collective, for
  /// example "hccs" or "roce". Empty if they are not known.
  std::vector<std::string> networks;
  /// The ranks that take part in the shown rank's collective or message. Empty
  /// if they are not known. Rates of links can only be fitted to profiles that
  /// have them.
  std::vector<int64_t> ranks;
};

/// An interval in which a stream works without interruption. The spans of a
/// stream are in order and do not overlap.
struct Span {
  double start = 0;
  double end = 0;
  /// An index into StepTimeline::activities.
  uint32_t activity = 0;
  /// An index into StageTimeline::tasks, or -1.
  int32_t task = -1;
};

/// The spans of one stream.
struct StreamTimeline {
  std::string name;
  program::StreamKind kind = program::StreamKind::Compute;
  std::vector<Span> spans;
};

/// A phase of a chunk for a micro-batch, from the start of its first kernel to
/// the end of its last.
struct TaskSpan {
  schedule::Phase phase = schedule::Phase::Forward;
  int32_t chunk = 0;
  int32_t microBatch = 0;
  double start = 0;
  double end = 0;
};

/// The number of bytes that are live in the arena from `time` on.
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

/// A message, with the spans that send and receive it.
struct Flow {
  SpanId from, to;
};

/// How a stage spends the step on its compute stream. The times add up to the
/// duration of the step.
struct StageSummary {
  /// The time in which a kernel runs.
  double busy = 0;
  /// The time in which the stage waits for other stages, or has ended, and
  /// nothing else is under way.
  double bubble = 0;
  /// The time in which no kernel runs but communication does, or communication
  /// holds up the device.
  double exposedCommunication = 0;
  /// The time in which only copies between device and host run.
  double stall = 0;
};

/// The work of the rank that represents a stage. All ranks of the stage do the
/// same.
struct StageTimeline {
  int64_t stage = 0;
  /// The rank that is shown.
  int64_t rank = 0;
  std::vector<StreamTimeline> streams;
  uint32_t computeStream = 0;
  std::vector<TaskSpan> tasks;
  std::vector<MemoryPoint> memory;
  /// The size of the arena as planned.
  int64_t peakBytes = 0;
  int64_t hostBytes = 0;
  int64_t limitBytes = 0;
  /// The bytes at the peak by memory category: "parameter", "gradient",
  /// "optimizer_state", "activation", ...
  std::map<std::string, int64_t> bytesByCategory;
  /// The time in seconds that streams work over the step, by Activity::kind. In
  /// a simulation it is the time that the work takes alone.
  std::map<std::string, double> secondsByKind;
  /// The floating-point operations of the cube in the step, including
  /// recomputed ones, and those of the model: forwards plus gradients, which is
  /// three times the forwards if all weights are trained. Both count causal
  /// attention in full, as published utilizations do.
  int64_t hardwareFlops = 0;
  int64_t modelFlops = 0;
  double end = 0;
};

/// A segment of the critical path.
struct CriticalShare {
  /// An Activity::kind, "bubble" or "host".
  std::string kind;
  double seconds = 0;
};

/// The rates per second from which lower bounds of kernels are computed.
struct BoundRates {
  /// The FLOPs of large matrix products, by element type.
  std::map<DType, double> flopsPerSecond;
  /// The bytes read plus written while streaming through memory.
  double bytesPerSecond = 0;
  /// The origin of the rates, for example "measured on 2 threads with AVX2" or
  /// "target atlas-800t-a2".
  std::string source;
};

/// The times of a step on one rank of each stage.
struct StepTimeline {
  /// The file of the program.
  std::string program;
  bool isSimulated = false;
  /// The target's name. Empty for an execution without a target.
  std::string target;
  std::vector<Activity> activities;
  std::vector<StageTimeline> stages;
  std::vector<Flow> flows;
  /// The duration of the whole step.
  double seconds = 0;
  int64_t numRanks = 1;
  int64_t microBatches = 0;
  /// The tokens of all ranks.
  int64_t tokens = 0;
  /// For simulations, what times of kernels depend on beside the target and the
  /// operands: jit_level O1, and the fraction of the rows for experts that are
  /// filled.
  bool graphKernelFusion = false;
  double filledRows = 1;
  /// The peak of a device's cube in bf16; 0 if it is not known.
  double peakFlopsPerSecond = 0;
  /// The segments of the critical path in descending order. They add up to
  /// `seconds`. Empty for executions.
  std::vector<CriticalShare> criticalPath;
  /// The derivative of the step's time with respect to the logarithm of each
  /// number of the target, in seconds, by the number's path. Empty for
  /// executions.
  std::map<std::string, double> sensitivity;
  /// The rates for lower bounds (KernelTable.h). Empty if these are not shown.
  std::optional<BoundRates> rates;
};

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

/// The numbers of a step that tables and reports show.
struct StepSummary {
  std::vector<StageSummary> stages;
  double tokensPerSecondPerNpu = 0;
  /// Fractions of the peak; 0 if the peak is not known.
  double modelFlopsUtilization = 0;
  double hardwareFlopsUtilization = 0;
};

StepSummary summarize(const StepTimeline &timeline);

/// Computes the summary of a stage in time linear in its spans.
StageSummary summarizeStage(const StepTimeline &timeline,
                            const StageTimeline &stage);

} // namespace mf::timeline

#endif // MF_PERF_TIMELINE_STEPTIMELINE_H
