//===- ExampleTimelines.cpp - Steps in time made by hand ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"

using mf::program::StreamKind;
using mf::schedule::Phase;

namespace mf::timeline {

uint32_t addActivity(StepTimeline &timeline, Category category,
                     llvm::StringRef name, llvm::StringRef kind) {
  Activity activity;
  activity.category = category;
  activity.name = name.str();
  activity.kind = kind.str();
  timeline.activities.push_back(activity);
  return timeline.activities.size() - 1;
}

namespace {

constexpr int64_t gib = int64_t{1} << 30;

/// The activities of makeExample, in its order.
enum : uint32_t { matmul, norm, gather, send, receive, toHost, toDevice };

void addActivities(StepTimeline &timeline) {
  addActivity(timeline, Category::Kernel, "aclnnMatmul", "matmul");
  addActivity(timeline, Category::Kernel, "aclnnRmsNorm", "norm");
  addActivity(timeline, Category::Collective, "all_gather",
              "all_gather over mp");
  addActivity(timeline, Category::Send, "send", "send");
  addActivity(timeline, Category::Receive, "receive", "receive");
  addActivity(timeline, Category::CopyToHost, "copy", "d2h");
  addActivity(timeline, Category::CopyToDevice, "copy", "h2d");
  timeline.activities[matmul].engine = Engine::Cube;
  timeline.activities[matmul].flops = 1000;
  timeline.activities[matmul].cell = "layers.0.attention.wq";
  timeline.activities[matmul].inputs = {{DType::BF16, {4, 8}},
                                        {DType::BF16, {8, 2}}};
  timeline.activities[matmul].outputs = {{DType::BF16, {4, 2}}};
}

StageTimeline makeFirstStage() {
  StageTimeline stage;
  stage.streams = {
      {"compute",
       StreamKind::Compute,
       {{0, 1, matmul, 0}, {1, 3, norm, 1}, {7, 9, matmul, 2}}},
      {"mp", StreamKind::Communication, {{2, 4, gather, 1}}},
      {"pp_send", StreamKind::Communication, {{3.5, 4.5, send}}},
      {"pp_receive", StreamKind::Communication, {{6.5, 7, receive}}},
      {"d2h", StreamKind::DeviceToHost, {{4, 5, toHost, 1}}},
      {"h2d", StreamKind::HostToDevice, {{5, 6.75, toDevice, 2}}}};
  stage.tasks = {{Phase::Forward, 0, 0, 0, 1},
                 {Phase::Forward, 0, 1, 1, 3.5},
                 {Phase::Backward, 0, 0, 7, 9}};
  stage.memory = {{0, 2 * gib}, {1, 3 * gib}, {7, 4 * gib}, {9, 2 * gib}};
  stage.peakBytes = 4 * gib;
  stage.hostBytes = gib / 2;
  stage.limitBytes = 8 * gib;
  stage.bytesByCategory = {
      {"parameter", gib},           {"gradient", gib / 2},
      {"optimizer_state", gib / 2}, {"activation", 3 * gib / 2},
      {"temporary", gib / 4},       {"unused", gib / 4}};
  stage.secondsByKind = {{"matmul", 3},
                         {"norm", 2},
                         {"send", 1},
                         {"receive", 0.5},
                         {"d2h", 1},
                         {"h2d", 1.75},
                         {"all_gather over mp", 2}};
  stage.hardwareFlops = 8000;
  stage.modelFlops = 6000;
  stage.end = 9;
  return stage;
}

StageTimeline makeSecondStage() {
  StageTimeline stage;
  stage.stage = 1;
  stage.rank = 2;
  stage.streams = {
      {"compute", StreamKind::Compute, {{4.5, 6.5, matmul, 0}}},
      {"pp_receive", StreamKind::Communication, {{3.5, 4.5, receive}}},
      {"pp_send", StreamKind::Communication, {{6.5, 7, send}}}};
  stage.tasks = {{Phase::Forward, 0, 0, 4.5, 5},
                 {Phase::Backward, 0, 0, 5, 6.5}};
  stage.memory = {{0, gib}, {4.5, 2 * gib}, {6.5, gib}};
  stage.peakBytes = 2 * gib;
  stage.limitBytes = 8 * gib;
  stage.bytesByCategory = {{"parameter", gib}, {"activation", gib}};
  stage.secondsByKind = {{"matmul", 2}, {"receive", 1}, {"send", 0.5}};
  stage.hardwareFlops = 4000;
  stage.modelFlops = 4000;
  stage.end = 7;
  return stage;
}

} // namespace

StepTimeline makeExample() {
  StepTimeline timeline;
  timeline.program = "step.mlir";
  timeline.isSimulated = true;
  timeline.target = "atlas-800t-a2";
  addActivities(timeline);
  timeline.stages = {makeFirstStage(), makeSecondStage()};
  timeline.flows = {{{0, 2, 0}, {1, 1, 0}}, {{1, 2, 0}, {0, 3, 0}}};
  timeline.seconds = 10;
  timeline.numRanks = 4;
  timeline.microBatches = 2;
  timeline.tokens = 8000;
  timeline.peakFlopsPerSecond = 1000;
  timeline.criticalPath = {{"matmul", 5},    {"norm", 2},
                           {"send", 1},      {"host", 1},
                           {"receive", 0.5}, {"all_gather over mp", 0.5}};
  timeline.sensitivity = {{"engines.cube.bf16", -5},
                          {"networks.hccs.collective_share", -0.5},
                          {"networks.roce.message_share", -1.5},
                          {"step_latency", 1},
                          {"host.latency", 0}};
  return timeline;
}

} // namespace mf::timeline
