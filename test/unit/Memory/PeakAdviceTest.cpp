//===- PeakAdviceTest.cpp - Advice on lowering a step's peak --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/PeakAdvice.h"
#include "gtest/gtest.h"

using namespace mf::memory;

namespace {

/// Two layers of a value and an output each, then a head; two micro-batches,
/// both in flight at the peak, where the last one's backward begins.
StepProblem makeStep() {
  StepProblem step;
  step.alignment = 1;
  step.routines = {{"forward", 60, {}}, {"backward", 60, {{"g", 5, 0, 1}}}};
  step.frames = {{"chunk",
                  {0, 1},
                  {{"embedding", 10, 0, 0, 1, 60},
                   {"layers.0.norm", 100, 0, 10, 1, 50, 0},
                   {"layers.0.mul", 100, 0, 10, 1, 50, 0},
                   {"layers.0.add", 10, 0, 20, 1, 40, 0},
                   {"layers.1.norm", 100, 0, 30, 1, 30, 1},
                   {"layers.1.mul", 100, 0, 30, 1, 30, 1},
                   {"layers.1.add", 10, 0, 40, 1, 20, 1},
                   {"head", 1, 0, 50, 1, 10}}}};
  step.tasks = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  step.persistentBuffers = {{"weight", 1000}};
  return step;
}

TEST(PeakAdviceTest, CountsLiveInstancesAndKeepsTheInputsOfRecomputedLayers) {
  StepProblem step = makeStep();
  ASSERT_EQ(step.maxLive().bytes, 1000 + 2 * 431 + 5);
  PeakAdvice advice = adviseOnPeak(step, 1400);
  EXPECT_EQ(advice.persistentBytes, 1000);
  ASSERT_EQ(advice.savings.size(), 1u);
  EXPECT_EQ(advice.savings[0].firstLayer, 0);
  EXPECT_EQ(advice.savings[0].lastLayer, 1);
  EXPECT_EQ(advice.savings[0].recomputeBytes, 2 * 200);
  EXPECT_EQ(advice.savings[0].swapBytes, 2 * 210);
}

TEST(PeakAdviceTest, GroupsEqualLayersLargestFirst) {
  StepProblem step = makeStep();
  step.frames[0].residuals[4].size = 300;
  PeakAdvice advice = adviseOnPeak(step, 1500);
  ASSERT_EQ(advice.savings.size(), 2u);
  EXPECT_EQ(advice.savings[0].firstLayer, 1);
  EXPECT_EQ(advice.savings[0].recomputeBytes, 2 * 400);
  EXPECT_EQ(advice.savings[1].firstLayer, 0);
}

TEST(PeakAdviceTest, StepsWithoutLayersHaveNoAdvice) {
  StepProblem step;
  step.persistentBuffers = {{"weight", 1000}};
  PeakAdvice advice = adviseOnPeak(step, 10);
  EXPECT_EQ(advice.persistentBytes, 1024);
  EXPECT_TRUE(advice.savings.empty());
  EXPECT_EQ(advice.recompute.numLayers, std::nullopt);
}

} // namespace
