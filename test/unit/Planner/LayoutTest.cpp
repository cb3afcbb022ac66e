//===- LayoutTest.cpp - Legal layouts and their bounds --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayoutPlanner.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mf;
using namespace mf::planner;

namespace {

LayoutRules makeRules(int64_t devices) {
  LayoutRules rules;
  rules.devices = devices;
  rules.samples = 16;
  rules.layers = 4;
  rules.heads = 8;
  rules.keyValueHeads = 4;
  rules.sequenceLength = 128;
  rules.allowsContext = true;
  rules.nodeRanks = 8;
  rules.optimizerSharding = true;
  return rules;
}

std::vector<std::string> describe(const std::vector<DeviceLayout> &layouts) {
  std::vector<std::string> names;
  for (const DeviceLayout &layout : layouts)
    names.push_back(layout.describe());
  return names;
}

} // namespace

TEST(LayoutTest, OfTwoDevices) {
  LayoutRules rules = makeRules(2);
  EXPECT_EQ(describe(listLayouts(rules)),
            std::vector<std::string>({"dp2", "dp2 opt", "dp1 cp2",
                                      "dp1 cp2 opt", "dp1 mp2 opt",
                                      "dp1 mp2 sp opt", "dp1 pp2 opt"}));
  // Where nothing can be sharded the YAML's own word stays.
  rules.optimizerSharding = false;
  rules.allowsContext = false;
  EXPECT_EQ(describe(listLayouts(rules)),
            std::vector<std::string>(
                {"dp2", "dp2 opt", "dp1 mp2", "dp1 mp2 sp", "dp1 pp2"}));
}

TEST(LayoutTest, EachOnceInOrderWithAllSamples) {
  for (const int64_t devices : {1, 4, 6, 8, 16, 32, 64}) {
    LayoutRules rules = makeRules(devices);
    rules.experts = devices > 8 ? 8 : 1;
    const std::vector<DeviceLayout> layouts = listLayouts(rules);
    EXPECT_TRUE(std::is_sorted(layouts.begin(), layouts.end()));
    EXPECT_EQ(std::set<DeviceLayout>(layouts.begin(), layouts.end()).size(),
              layouts.size());
    for (const DeviceLayout &layout : layouts) {
      SCOPED_TRACE(layout.describe());
      EXPECT_EQ(layout.getNumRanks(), devices);
      EXPECT_EQ(layout.dataParallel * layout.passes * layout.batchSize,
                rules.samples);
      EXPECT_GE(layout.passes, layout.stages);
      EXPECT_LE(layout.stages, rules.layers);
      EXPECT_EQ(rules.keyValueHeads % layout.modelParallel, 0);
      EXPECT_EQ(rules.nodeRanks % layout.modelParallel, 0);
      EXPECT_EQ(rules.experts % layout.expertParallel, 0);
      EXPECT_EQ(layout.getReplicas() * layout.modelParallel %
                    layout.expertParallel,
                0);
      EXPECT_TRUE(layout.modelParallel > 1 || !layout.sequenceParallel);
    }
  }
}

TEST(LayoutTest, ModelParallelLeavesNodesOfUnknownSize) {
  LayoutRules rules = makeRules(16);
  rules.heads = rules.keyValueHeads = 16;
  rules.nodeRanks = 0;
  const std::vector<DeviceLayout> layouts = listLayouts(rules);
  EXPECT_TRUE(std::any_of(
      layouts.begin(), layouts.end(),
      [](const DeviceLayout &layout) { return layout.modelParallel == 16; }));
}

TEST(LayoutTest, ExpertsWantRowsSharedOut) {
  LayoutRules rules = makeRules(4);
  rules.experts = 2;
  for (const DeviceLayout &layout : listLayouts(rules))
    EXPECT_EQ(layout.sequenceParallel, layout.modelParallel > 1);
  // Ranks that cut experts do not share them out.
  rules.cutsExperts = true;
  for (const DeviceLayout &layout : listLayouts(rules))
    EXPECT_EQ(layout.getReplicas() % layout.expertParallel, 0);
}

TEST(LayoutTest, NothingIsLegal) {
  // 17 divides neither heads, samples nor rows, and there are fewer layers.
  EXPECT_TRUE(listLayouts(makeRules(17)).empty());
}

TEST(LayoutTest, BatchGetsSmallerOnlyWhereItMust) {
  LayoutRules rules = makeRules(8);
  rules.samples = 24;
  rules.batchSize = 4;
  DeviceLayout layout;
  layout.dataParallel = 2;
  ASSERT_TRUE(dealSamples(rules, layout));
  EXPECT_EQ(layout.batchSize, 4);
  EXPECT_EQ(layout.passes, 3);
  // Four stages need four micro-batches.
  layout.stages = 4;
  ASSERT_TRUE(dealSamples(rules, layout));
  EXPECT_EQ(layout.batchSize, 3);
  EXPECT_EQ(layout.passes, 4);
  layout.stages = 13;
  EXPECT_FALSE(dealSamples(rules, layout));
  layout = DeviceLayout();
  layout.dataParallel = 5;
  EXPECT_FALSE(dealSamples(rules, layout));
}

TEST(LayoutTest, LayersAreDealtBeforeTheLastChunk) {
  EXPECT_EQ(dealLayersEvenly(10, 4, 1), StageTable({{0, 1, 1, 0}}));
  EXPECT_EQ(dealLayersEvenly(8, 2, 2), StageTable({{0, 0}, {0, 0}}));
  EXPECT_EQ(dealLayersEvenly(11, 2, 2), StageTable({{1, 1}, {1, 0}}));
}

TEST(LayoutTest, SettingsCountMicroBatchesOrAccumulation) {
  DeviceLayout layout;
  layout.dataParallel = 2;
  layout.passes = 8;
  MemorySettings settings = makeLayoutSettings(layout, 4, 2, false);
  EXPECT_EQ(settings.gradientAccumulation, 8);
  EXPECT_EQ(settings.microBatches, 1);
  EXPECT_EQ(settings.interleave, 1);
  EXPECT_FALSE(settings.sequenceParallel);
  EXPECT_TRUE(settings.swap);
  layout.stages = 2;
  layout.modelParallel = 2;
  settings = makeLayoutSettings(layout, 4, 2, true);
  EXPECT_EQ(settings.gradientAccumulation, 1);
  EXPECT_EQ(settings.microBatches, 8);
  EXPECT_EQ(settings.interleave, 2);
  EXPECT_EQ(settings.offset, StageTable({{0, 0}, {0, 0}}));
  EXPECT_EQ(settings.recompute, StageTable({{0, 0}, {0, 0}}));
  EXPECT_EQ(settings.sequenceParallel, false);
  EXPECT_FALSE(settings.swap);
  // There are no layers for two chunks.
  EXPECT_EQ(makeLayoutSettings(layout, 3, 2, true).interleave, 1);
}

TEST(LayoutTest, Bounds) {
  LayoutBounds bounds;
  bounds.rules = makeRules(8);
  bounds.parameters = 800;
  bounds.parameterBytes = 2;
  bounds.stateBytes = 8;
  bounds.peakFlopsPerSecond = 100;
  DeviceLayout layout;
  layout.stages = 2;
  layout.dataParallel = 4;
  layout.passes = 4;
  EXPECT_EQ(bounds.getLeastBytes(layout), 4000);
  layout.optimizerSharding = true;
  EXPECT_EQ(bounds.getLeastBytes(layout), 1000);
  // Buffers for sums and gathered parameters live all step.
  bounds.gradientBytes = 2;
  bounds.gatheredBytes = 1;
  EXPECT_EQ(bounds.getLeastBytes(layout), 1000 + 800 + 300);
  bounds.shardsGradients = true;
  EXPECT_EQ(bounds.getLeastBytes(layout), 1000 + 200 + 300);
  // Ranks of one stage share out only their experts.
  bounds.gatheredBytes = 0;
  bounds.shardsGradients = false;
  bounds.routedParameters = 600;
  layout.expertParallel = 2;
  EXPECT_EQ(bounds.getLeastBytes(layout), 1000 + 2 * (150 + 100));
  bounds.gatheredBytes = 1;
  bounds.shardsGradients = true;
  bounds.routedParameters = 0;
  layout.expertParallel = 1;
  // 1 s of work on each device. With 4/7 of it on the first stage and 3/7 on
  // the second, both bounds of four passes are equal: 4 * 8/7 = 4 * 6/7 + 8/7.
  EXPECT_DOUBLE_EQ(bounds.getLeastSeconds(layout, 800), 8. / 7);
  EXPECT_DOUBLE_EQ(bounds.getLeastStepSeconds(layout, 2), 4 * 8. / 7);
  bounds.interleave = 2;
  EXPECT_DOUBLE_EQ(bounds.getLeastStepSeconds(layout, 2), 4 * 16. / 15);
  bounds.waitsWhileFilling = false;
  EXPECT_DOUBLE_EQ(bounds.getLeastStepSeconds(layout, 2), 4);
}

/// However layers are distributed, a stage waits for those in front of it.
TEST(LayoutTest, NoDistributionOfLayersIsBelowTheBound) {
  LayoutBounds bounds;
  bounds.rules = makeRules(8);
  std::mt19937 random(1);
  for (int draw = 0; draw < 1000; ++draw) {
    DeviceLayout layout;
    layout.stages = static_cast<int64_t>(2 + random() % 6);
    layout.passes = layout.stages + static_cast<int64_t>(random() % 20);
    std::vector<double> seconds;
    double sum = 0, before = 0, longest = 0;
    for (int64_t stage = 0; stage < layout.stages; ++stage) {
      seconds.push_back(static_cast<double>(1 + random() % 100));
      sum += seconds.back();
    }
    for (const double own : seconds) {
      longest =
          std::max(longest, static_cast<double>(layout.passes) * own + before);
      before += own;
    }
    EXPECT_LE(bounds.getLeastStepSeconds(layout, sum), longest * (1 + 1e-12));
  }
}
