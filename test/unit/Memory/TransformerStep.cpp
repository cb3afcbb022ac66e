//===- TransformerStep.cpp - Steps like those of a transformer ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TransformerStep.h"
#include "ChunkRoutines.h"
#include <algorithm>

namespace mf::memory {

namespace {

/// Chunk and micro-batch of the n-th forward (or backward) of a stage.
std::pair<int64_t, int64_t> getUnit(const TransformerStepOptions &options,
                                    int64_t n, bool isBackward) {
  int64_t chunks = options.chunksPerStage, stages = options.stages;
  if (chunks == 1)
    return {0, n};
  int64_t remainder = options.microBatches % stages;
  int64_t firstGroup = std::min(stages + remainder, options.microBatches);
  int64_t start = 0, width = firstGroup;
  if (n >= firstGroup * chunks) {
    int64_t group = (n - firstGroup * chunks) / (stages * chunks);
    start = firstGroup + group * stages;
    n -= firstGroup * chunks + group * stages * chunks;
    width = stages;
  }
  int64_t chunk = n / width;
  return {isBackward ? chunks - 1 - chunk : chunk, start + n % width};
}

/// 1F1B, plain or interleaved: warm-up, alternation, the rest.
std::vector<TaskMemory> makeSchedule(const TransformerStepOptions &options) {
  int64_t stages = options.stages, chunks = options.chunksPerStage;
  int64_t total = options.microBatches * chunks;
  int64_t warmUp = stages - options.stage - 1;
  if (chunks > 1)
    warmUp = (chunks + 1) * stages - 2 * options.stage - 2 +
             options.microBatches % stages * (chunks - 1);
  warmUp = std::clamp<int64_t>(warmUp, 0, total);
  std::vector<TaskMemory> tasks;
  auto run = [&](int64_t n, bool isBackward) {
    auto [chunk, microBatch] = getUnit(options, n, isBackward);
    tasks.push_back({chunk * 2 + isBackward, microBatch});
  };
  for (int64_t n = 0; n < warmUp; ++n)
    run(n, false);
  for (int64_t n = warmUp; n < total; ++n) {
    run(n, false);
    run(n - warmUp, true);
  }
  for (int64_t n = total - warmUp; n < total; ++n)
    run(n, true);
  return tasks;
}

/// Messages that enter and leave the stage: received one task ahead, sent
/// while the next task runs.
void addMessages(const TransformerStepOptions &options, StepProblem &problem) {
  int64_t size = options.sequence * options.hidden * 2;
  int64_t numTasks = problem.tasks.size();
  for (int64_t t = 0; t < numTasks; ++t) {
    int64_t chunk = problem.tasks[t].routine / 2;
    bool isBackward = problem.tasks[t].routine % 2 == 1;
    bool isFirst = options.stage == 0 && chunk == 0;
    bool isLast = options.stage == options.stages - 1 &&
                  chunk == options.chunksPerStage - 1;
    std::string suffix = std::to_string(t);
    if (isBackward ? !isLast : !isFirst)
      problem.taskBuffers.push_back({"receive" + suffix,
                                     size,
                                     {std::max<int64_t>(0, t - 1), 0},
                                     {t + 1, 0}});
    if (isBackward ? !isFirst : !isLast)
      problem.taskBuffers.push_back(
          {"send" + suffix, size, {t, 0}, {std::min(t + 2, numTasks), 0}});
  }
}

/// Clipping by the global norm and AdamW, tensor by tensor.
void addOptimizer(const std::vector<int64_t> &weights, StepProblem &problem) {
  RoutineMemory clip, update;
  clip.name = "clip";
  update.name = "update";
  int64_t at = 0;
  for (size_t i = 0; i < weights.size(); ++i, at += 3) {
    std::string suffix = std::to_string(i);
    // Weights in bf16; gradients, master weights and moments in fp32.
    problem.persistentBuffers.push_back({"weight" + suffix, weights[i]});
    for (const char *name : {"gradient", "master", "mean", "variance"})
      problem.persistentBuffers.push_back({name + suffix, weights[i] * 2});
    clip.temporaries.push_back({"square" + suffix, weights[i] * 2, at, at + 2});
    clip.temporaries.push_back(
        {"norm" + suffix, 4, at + 1, static_cast<int64_t>(weights.size()) * 3});
    update.temporaries.push_back({"step" + suffix, weights[i] * 2, at, at + 3});
    update.temporaries.push_back(
        {"root" + suffix, weights[i] * 2, at + 1, at + 2});
  }
  clip.length = update.length = std::max<int64_t>(1, at);
  int64_t first = problem.routines.size();
  problem.routines.push_back(std::move(clip));
  problem.routines.push_back(std::move(update));
  problem.tasks.push_back({first, 0});
  problem.tasks.push_back({first + 1, 0});
}

} // namespace

StepProblem makeTransformerStep(const TransformerStepOptions &options) {
  StepProblem problem;
  std::vector<int64_t> weights;
  int64_t parts = options.stages * options.chunksPerStage;
  for (int64_t chunk = 0; chunk < options.chunksPerStage; ++chunk) {
    int64_t part = chunk * options.stages + options.stage;
    int64_t first = part * options.layers / parts;
    int64_t last = (part + 1) * options.layers / parts;
    int64_t activation = options.sequence * options.hidden * 2;
    ChunkGraph graph(options, part == 0 ? options.sequence * 4 : activation);
    int64_t value = 0;
    if (part == 0) {
      value = graph.add("embedding", {0}, activation, {0}, false, false,
                        options.vocab * options.hidden * 2 /
                            options.tensorParallel);
      graph.operators.back().layer = options.layers;
    }
    for (int64_t layer = first; layer < last; ++layer)
      value = graph.addLayer(value);
    graph.layer = options.layers;
    if (part == parts - 1)
      value = graph.addHead(value);
    else if (value == 0)
      value = graph.add("pass_on", {0}, activation, {});
    for (const Operator &op : graph.operators)
      if (op.weightBytes > 0)
        weights.push_back(op.weightBytes);

    RoutineMemory forward, backward;
    FrameMemory frame;
    frame.name = "chunk" + std::to_string(chunk);
    forward.name = frame.name + ".forward";
    backward.name = frame.name + ".backward";
    buildChunkRoutines(graph, forward, backward, frame);
    frame.phases = {chunk * 2, chunk * 2 + 1};
    problem.frames.push_back(std::move(frame));
    problem.routines.push_back(std::move(forward));
    problem.routines.push_back(std::move(backward));
  }
  problem.tasks = makeSchedule(options);
  addMessages(options, problem);
  addOptimizer(weights, problem);
  return problem;
}

} // namespace mf::memory
