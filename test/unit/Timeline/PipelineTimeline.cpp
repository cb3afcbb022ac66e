//===- PipelineTimeline.cpp - A step of any size --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"
#include <algorithm>

using mf::program::StreamKind;
using mf::schedule::Phase;

namespace mf::timeline {

namespace {

constexpr double kernelSeconds = 1e-3;
constexpr double collectiveSeconds = 4e-4;
constexpr double messageSeconds = 2e-3;
constexpr double optimizerSeconds = 20e-3;
constexpr int64_t gib = int64_t{1} << 30;
/// Kernels until a collective.
constexpr int layer = 4;

enum : uint32_t { matmul, norm, attention, gather, send, receive, adam };

class PipelineMaker {
public:
  PipelineMaker(int numStages, int microBatches, int kernels)
      : numStages(numStages), microBatches(microBatches), kernels(kernels),
        ends(2, std::vector<std::vector<double>>(
                    numStages, std::vector<double>(microBatches, -1))),
        clocks(numStages, 0), done(numStages, 0) {}

  StepTimeline make();

private:
  /// The n-th task of a stage: the phase (1 for backward) and micro-batch.
  std::pair<int, int> getTask(int stage, int n) const;
  bool runNext(int stage);
  void runKernels(StageTimeline &stage, double start, int count, int task);
  void finish(StageTimeline &stage, double &clock);

  const int numStages, microBatches, kernels;
  StepTimeline timeline;
  /// By phase, stage and micro-batch; -1 before.
  std::vector<std::vector<std::vector<double>>> ends;
  std::vector<double> clocks;
  std::vector<int> done;
};

std::pair<int, int> PipelineMaker::getTask(int stage, int n) const {
  const int warmUp = std::min(numStages - stage, microBatches);
  if (n < warmUp)
    return {0, n};
  // One backward, one forward, until forwards are done.
  const int alternating = 2 * (microBatches - warmUp);
  if (n < warmUp + alternating)
    return (n - warmUp) % 2 == 0 ? std::pair(1, (n - warmUp) / 2)
                                 : std::pair(0, warmUp + (n - warmUp) / 2);
  return {1, n - microBatches};
}

void PipelineMaker::runKernels(StageTimeline &stage, double start, int count,
                               int task) {
  std::vector<Span> &compute = stage.streams[0].spans;
  std::vector<Span> &collectives = stage.streams[1].spans;
  for (int i = 0; i < count; ++i) {
    const uint32_t kinds[] = {matmul, attention, norm, matmul};
    compute.push_back({start, start + kernelSeconds, kinds[i % layer], task});
    start += kernelSeconds;
    if (i % layer != layer - 1)
      continue;
    collectives.push_back({start, start + collectiveSeconds, gather, task});
    start += collectiveSeconds;
  }
}

/// Runs the next task if what it waits for is done.
bool PipelineMaker::runNext(int number) {
  if (done[number] == 2 * microBatches)
    return false;
  const auto [phase, microBatch] = getTask(number, done[number]);
  const int from = phase == 0 ? number - 1 : number + 1;
  double start = clocks[number];
  StageTimeline &stage = timeline.stages[number];
  if (from >= 0 && from < numStages) {
    const double sent = ends[phase][from][microBatch];
    if (sent < 0)
      return false;
    stage.streams[2].spans.push_back({sent, sent + messageSeconds, receive});
    start = std::max(start, sent + messageSeconds);
  }
  const int count = kernels * (1 + phase);
  const int collectives = count / layer;
  const double end =
      start + count * kernelSeconds + collectives * collectiveSeconds;
  runKernels(stage, start, count, stage.tasks.size());
  stage.tasks.push_back({phase == 0 ? Phase::Forward : Phase::Backward, 0,
                         microBatch, start, end});
  const int64_t last = stage.memory.back().bytes;
  for (int i = 1; i <= 8; ++i)
    stage.memory.push_back(
        {start + (end - start) * i / 8,
         last + (phase == 0 ? 1 : -1) * i * gib / 8 + i % 3 * gib / 4});
  stage.memory.push_back({end, last + (phase == 0 ? gib : -gib)});
  ends[phase][number][microBatch] = clocks[number] = end;
  ++done[number];
  return true;
}

void PipelineMaker::finish(StageTimeline &stage, double &clock) {
  stage.streams[0].spans.push_back({clock, clock + optimizerSeconds, adam});
  clock += optimizerSeconds;
  stage.end = clock;
  for (const MemoryPoint &point : stage.memory)
    stage.peakBytes = std::max(stage.peakBytes, point.bytes);
  stage.limitBytes = 60 * gib;
  stage.bytesByCategory = {{"parameter", 6 * gib},
                           {"gradient", 6 * gib},
                           {"optimizer_state", 8 * gib},
                           {"activation", stage.peakBytes - 20 * gib}};
  for (const StreamTimeline &stream : stage.streams)
    for (const Span &span : stream.spans)
      stage.secondsByKind[timeline.activities[span.activity].kind] +=
          span.end - span.start;
  stage.modelFlops = stage.hardwareFlops = 1000;
  timeline.seconds = std::max(timeline.seconds, clock);
}

StepTimeline PipelineMaker::make() {
  timeline.program = "pipeline.mlir";
  timeline.isSimulated = true;
  timeline.target = "atlas-800t-a2";
  addActivity(timeline, Category::Kernel, "aclnnMatmul", "matmul");
  addActivity(timeline, Category::Kernel, "aclnnRmsNorm", "norm");
  addActivity(timeline, Category::Kernel, "aclnnFlashAttention", "attention");
  addActivity(timeline, Category::Collective, "all_gather",
              "all_gather over mp");
  addActivity(timeline, Category::Send, "send", "send");
  addActivity(timeline, Category::Receive, "receive", "receive");
  addActivity(timeline, Category::Kernel, "mfAdamW", "optimizer");
  timeline.activities[matmul].engine = Engine::Cube;
  timeline.activities[attention].engine = Engine::Cube;
  for (int i = 0; i < numStages; ++i) {
    StageTimeline stage;
    stage.stage = stage.rank = i;
    stage.streams = {{"compute", StreamKind::Compute, {}},
                     {"mp", StreamKind::Communication, {}},
                     {"pp", StreamKind::Communication, {}}};
    stage.memory = {{0, 20 * gib}};
    timeline.stages.push_back(stage);
  }
  for (bool hasRun = true; hasRun;) {
    hasRun = false;
    for (int i = 0; i < numStages; ++i)
      hasRun |= runNext(i);
  }
  for (int i = 0; i < numStages; ++i)
    finish(timeline.stages[i], clocks[i]);
  timeline.numRanks = numStages;
  timeline.microBatches = microBatches;
  timeline.tokens = int64_t{4096} * microBatches;
  timeline.peakFlopsPerSecond = 1e4;
  timeline.criticalPath = {{"matmul", 0.5 * timeline.seconds},
                           {"attention", 0.3 * timeline.seconds},
                           {"all_gather over mp", 0.2 * timeline.seconds}};
  timeline.sensitivity = {{"engines.cube.bf16", -0.7 * timeline.seconds}};
  return std::move(timeline);
}

} // namespace

StepTimeline makePipeline(int stages, int microBatches, int kernels) {
  return PipelineMaker(stages, microBatches, kernels).make();
}

} // namespace mf::timeline
