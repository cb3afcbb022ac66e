//===- SummaryTest.cpp - Summaries of stages ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleTimelines.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace mf::timeline;

namespace {

double getSum(const StageSummary &stage) {
  return stage.busy + stage.bubble + stage.exposedCommunication + stage.stall;
}

TEST(SummaryTest, WhatIsNotKnownIsZero) {
  StepTimeline timeline = makeExample();
  timeline.peakFlopsPerSecond = 0;
  StepSummary summary = summarize(timeline);
  EXPECT_EQ(summary.modelFlopsUtilization, 0);
  EXPECT_EQ(summary.hardwareFlopsUtilization, 0);
  summary = summarize(StepTimeline());
  EXPECT_TRUE(summary.stages.empty());
  EXPECT_EQ(summary.tokensPerSecondPerNpu, 0);
}

TEST(SummaryTest, SpansBeyondTheStepAreCut) {
  StepTimeline timeline = makeExample();
  timeline.seconds = 8;
  const StageSummary stage = summarizeStage(timeline, timeline.stages[0]);
  EXPECT_DOUBLE_EQ(stage.busy, 4);
  EXPECT_DOUBLE_EQ(stage.bubble, 0);
  EXPECT_DOUBLE_EQ(getSum(stage), 8);
}

/// Streams of random spans against the definition, looked up for each of many
/// short pieces of the step.
TEST(SummaryTest, AgreesWithTheDefinitionOnRandomStreams) {
  uint64_t state = 1;
  auto draw = [&](uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((state >> 33) % below);
  };
  for (int round = 0; round < 200; ++round) {
    StepTimeline timeline;
    for (Category category :
         {Category::Kernel, Category::Collective, Category::Send,
          Category::Receive, Category::CopyToHost, Category::CopyToDevice})
      addActivity(timeline, category, "name", "kind");
    StageTimeline stage;
    const int units = 40;
    timeline.seconds = units;
    std::vector<int> uses(units, 0);
    for (int i = 0, streams = 1 + draw(5); i < streams; ++i) {
      StreamTimeline stream;
      for (int at = draw(4); at < units; at += draw(4)) {
        const int end = std::min(units, at + draw(5));
        const uint32_t activity =
            i == 0 ? 0 : 1 + draw(timeline.activities.size() - 1);
        stream.spans.push_back({double(at), double(end), activity});
        // Computing goes before communication, and that before copies.
        const int use = activity == 0 ? 3 : activity < 4 ? 2 : 1;
        for (; at < end; ++at)
          uses[at] = std::max(uses[at], use);
      }
      stage.streams.push_back(stream);
    }
    auto count = [&](int use) {
      return double(std::count(uses.begin(), uses.end(), use));
    };
    const StageSummary summary = summarizeStage(timeline, stage);
    EXPECT_DOUBLE_EQ(summary.busy, count(3));
    EXPECT_DOUBLE_EQ(summary.exposedCommunication, count(2));
    EXPECT_DOUBLE_EQ(summary.stall, count(1));
    EXPECT_DOUBLE_EQ(summary.bubble, count(0));
  }
}

} // namespace
