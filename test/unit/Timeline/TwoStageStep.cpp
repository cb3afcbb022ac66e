//===- TwoStageStep.cpp - A small step in time ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TwoStageStep.h"

namespace mf::timeline {

namespace {

using program::StreamKind;
using schedule::Phase;

constexpr double microsecond = 1e-6;

enum ActivityNumber : uint32_t {
  Matmul,
  Attention,
  AttentionGrad,
  Silu,
  Update,
  Gather,
  Send,
  Receive,
  SendBack,
  ReceiveBack,
  ToHost,
  ToDevice
};

enum StreamNumber : uint32_t {
  Compute,
  Collectives,
  Sends,
  Receives,
  D2h,
  H2d
};

Activity makeKernel(const char *name, const char *kind, const char *cell,
                    Engine engine, int64_t flops,
                    std::vector<TensorShape> inputs,
                    std::vector<TensorShape> outputs) {
  Activity activity;
  activity.name = name;
  activity.kind = kind;
  activity.cell = cell;
  activity.engine = engine;
  activity.flops = flops;
  for (const TensorShape &shape : inputs)
    activity.bytes += shape.getBytes();
  for (const TensorShape &shape : outputs)
    activity.bytes += shape.getBytes();
  activity.inputs = std::move(inputs);
  activity.outputs = std::move(outputs);
  return activity;
}

Activity makeTransfer(Category category, const char *name, const char *kind,
                      Engine engine, int64_t bytes,
                      std::vector<std::string> networks = {},
                      std::vector<int64_t> ranks = {}) {
  Activity activity;
  activity.category = category;
  activity.name = name;
  activity.kind = kind;
  activity.engine = engine;
  activity.bytes = bytes;
  activity.networks = std::move(networks);
  activity.ranks = std::move(ranks);
  return activity;
}

std::vector<Activity> makeActivities() {
  const TensorShape hidden{DType::BF16, {1024, 512}};
  const TensorShape weight{DType::BF16, {512, 2048}};
  const TensorShape wide{DType::BF16, {1024, 2048}};
  const TensorShape moment{DType::F32, {512, 2048}};
  return {makeKernel("aclnnMatmul", "matmul", "layers.0.feed_forward.w1",
                     Engine::Cube, 2LL * 1024 * 512 * 2048, {hidden, weight},
                     {wide}),
          makeKernel("aclnnFlashAttentionScore", "attention",
                     "layers.0.attention", Engine::Cube, 1'500'000'000,
                     {hidden, hidden, hidden}, {hidden}),
          makeKernel("aclnnFlashAttentionScoreGrad", "attention_grad",
                     "layers.0.attention", Engine::Cube, 3'750'000'000,
                     {hidden, hidden, hidden, hidden},
                     {hidden, hidden, hidden}),
          makeKernel("aclnnSilu", "activation", "layers.0.feed_forward.silu",
                     Engine::Vector, 1024LL * 2048, {wide}, {wide}),
          makeKernel("aclnnApplyAdamW", "optimizer", "", Engine::Vector,
                     512LL * 2048 * 12, {moment}, {moment, moment, moment}),
          makeTransfer(Category::Collective, "all_gather", "all_gather over mp",
                       Engine::Communication, 1'048'576, {"hccs"}, {0, 1}),
          makeTransfer(Category::Send, "send", "send", Engine::Communication,
                       1'048'576, {"roce"}, {0, 2}),
          makeTransfer(Category::Receive, "receive", "receive",
                       Engine::Communication, 1'048'576, {"roce"}, {0, 2}),
          makeTransfer(Category::Send, "send", "send", Engine::Communication,
                       1'048'576, {"roce"}, {2, 0}),
          makeTransfer(Category::Receive, "receive", "receive",
                       Engine::Communication, 1'048'576, {"roce"}, {2, 0}),
          makeTransfer(Category::CopyToHost, "copy", "d2h", Engine::Copy,
                       2'097'152),
          makeTransfer(Category::CopyToDevice, "copy", "h2d", Engine::Copy,
                       2'097'152)};
}

StageTimeline makeStage(int64_t number) {
  StageTimeline stage;
  stage.stage = number;
  stage.rank = 2 * number;
  stage.streams = {{"compute", StreamKind::Compute, {}},
                   {"collective.mp", StreamKind::Communication, {}},
                   {"send.pp", StreamKind::Communication, {}},
                   {"receive.pp", StreamKind::Communication, {}},
                   {"d2h", StreamKind::DeviceToHost, {}},
                   {"h2d", StreamKind::HostToDevice, {}}};
  stage.limitBytes = 64LL << 20;
  stage.end = 380 * microsecond;
  return stage;
}

void addTask(StageTimeline &stage, Phase phase, int32_t microBatch,
             double start, double end) {
  stage.tasks.push_back({phase, static_cast<int32_t>(stage.stage), microBatch,
                         start * microsecond, end * microsecond});
}

void addSpan(StageTimeline &stage, StreamNumber stream, ActivityNumber activity,
             double start, double end, int32_t task = -1) {
  stage.streams[stream].spans.push_back(
      {start * microsecond, end * microsecond, activity, task});
}

void addMemory(StageTimeline &stage, double time, int64_t bytes) {
  stage.memory.push_back({time * microsecond, bytes});
  stage.peakBytes = std::max(stage.peakBytes, bytes);
}

StageTimeline makeFirstStage() {
  StageTimeline stage = makeStage(0);
  addTask(stage, Phase::Forward, 0, 0, 60);
  addTask(stage, Phase::Forward, 1, 60, 115);
  addTask(stage, Phase::Backward, 0, 185, 245);
  addTask(stage, Phase::Backward, 1, 285, 345);
  addSpan(stage, Compute, Matmul, 0, 20.125, 0);
  addSpan(stage, Compute, Silu, 20.125, 30, 0);
  addSpan(stage, Compute, Attention, 35, 60, 0);
  addSpan(stage, Compute, Matmul, 60, 80.125, 1);
  addSpan(stage, Compute, Silu, 80.125, 90, 1);
  addSpan(stage, Compute, Attention, 90, 115, 1);
  addSpan(stage, Compute, AttentionGrad, 185, 225, 2);
  addSpan(stage, Compute, Matmul, 225, 245, 2);
  addSpan(stage, Compute, AttentionGrad, 285, 325, 3);
  addSpan(stage, Compute, Matmul, 325, 345, 3);
  addSpan(stage, Compute, Update, 360, 380);
  addSpan(stage, Collectives, Gather, 25, 40, 0);
  addSpan(stage, Sends, Send, 60, 68, 0);
  addSpan(stage, Sends, Send, 115, 123, 1);
  addSpan(stage, Receives, ReceiveBack, 175, 185, 2);
  addSpan(stage, Receives, ReceiveBack, 275, 285, 3);
  addSpan(stage, D2h, ToHost, 60, 80, 0);
  addSpan(stage, H2d, ToDevice, 120, 140, 2);
  addMemory(stage, 0, 16 << 20);
  addMemory(stage, 20.125, (16 << 20) + 4'194'304);
  addMemory(stage, 60, 16 << 20);
  addMemory(stage, 60, (16 << 20) + 4'194'816);
  addMemory(stage, 80, 16 << 20);
  return stage;
}

StageTimeline makeSecondStage() {
  StageTimeline stage = makeStage(1);
  addTask(stage, Phase::Forward, 0, 68, 110);
  addTask(stage, Phase::Backward, 0, 110, 175);
  addTask(stage, Phase::Forward, 1, 175, 217);
  addTask(stage, Phase::Backward, 1, 217, 275);
  addSpan(stage, Compute, Matmul, 68, 88, 0);
  addSpan(stage, Compute, Attention, 88, 110, 0);
  addSpan(stage, Compute, AttentionGrad, 110, 150, 1);
  addSpan(stage, Compute, Matmul, 150, 175, 1);
  addSpan(stage, Compute, Matmul, 175, 195, 2);
  addSpan(stage, Compute, Attention, 195, 217, 2);
  addSpan(stage, Compute, AttentionGrad, 217, 250, 3);
  addSpan(stage, Compute, Matmul, 250, 275, 3);
  addSpan(stage, Compute, Update, 360, 380);
  addSpan(stage, Receives, Receive, 60, 68, 0);
  addSpan(stage, Receives, Receive, 115, 123, 2);
  addSpan(stage, Sends, SendBack, 175, 185, 1);
  addSpan(stage, Sends, SendBack, 275, 285, 3);
  addMemory(stage, 0, 8 << 20);
  addMemory(stage, 68, (8 << 20) + 512);
  addMemory(stage, 380, 8 << 20);
  return stage;
}

} // namespace

program::Mesh makeTwoStageMesh() {
  return program::Mesh({{"pp", 2}, {"mp", 2}});
}

StepTimeline makeTwoStageStep() {
  StepTimeline timeline;
  timeline.program = "two-stages.mlir";
  timeline.isSimulated = true;
  timeline.target = "atlas-800t-a2";
  timeline.activities = makeActivities();
  timeline.stages = {makeFirstStage(), makeSecondStage()};
  timeline.flows = {{{0, Sends, 0}, {1, Receives, 0}},
                    {{0, Sends, 1}, {1, Receives, 1}},
                    {{1, Sends, 0}, {0, Receives, 0}},
                    {{1, Sends, 1}, {0, Receives, 1}}};
  timeline.seconds = 380 * microsecond;
  timeline.numRanks = 4;
  timeline.microBatches = 2;
  timeline.tokens = 2048;
  return timeline;
}

} // namespace mf::timeline
