//===- PipelineTimeline.cpp - A step of any size --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"

using mf::program::StreamKind;
using mf::schedule::Phase;

namespace mf::timeline {

namespace {

constexpr double kernelSeconds = 1e-3;
constexpr int64_t gib = int64_t{1} << 30;

/// A stage computes its tasks one after another, a message comes before each
/// but on stage 0, and a collective runs beside every fourth kernel.
StageTimeline makeStage(int number, int numTasks, int kernels) {
  StageTimeline stage;
  stage.stage = stage.rank = number;
  stage.streams = {{"compute", StreamKind::Compute, {}},
                   {"mp", StreamKind::Communication, {}},
                   {"pp", StreamKind::Communication, {}}};
  double now = number * kernelSeconds;
  for (int task = 0; task < numTasks; ++task) {
    const double start = now;
    if (number > 0)
      stage.streams[2].spans.push_back({now, now += 2 * kernelSeconds, 2});
    for (int kernel = 0; kernel < kernels; ++kernel) {
      if (kernel % 4 == 3)
        stage.streams[1].spans.push_back({now, now + kernelSeconds / 2, 1});
      stage.streams[0].spans.push_back({now, now += kernelSeconds, 0, task});
      // Something to wait for.
      now += kernel % 2 * kernelSeconds / 4;
    }
    stage.tasks.push_back({Phase::Forward, 0, task, start, now});
    stage.memory.push_back({now, (1 + task % 3) * gib});
  }
  stage.peakBytes = 3 * gib;
  stage.end = now;
  return stage;
}

} // namespace

StepTimeline makePipeline(int stages, int tasks, int kernels) {
  StepTimeline timeline;
  timeline.program = "pipeline.mlir";
  addActivity(timeline, Category::Kernel, "aclnnMatmul", "matmul");
  addActivity(timeline, Category::Collective, "all_gather",
              "all_gather over mp");
  addActivity(timeline, Category::Receive, "receive", "receive");
  for (int number = 0; number < stages; ++number) {
    timeline.stages.push_back(makeStage(number, tasks, kernels));
    timeline.seconds = std::max(timeline.seconds, timeline.stages.back().end);
  }
  timeline.numRanks = stages;
  return timeline;
}

} // namespace mf::timeline
