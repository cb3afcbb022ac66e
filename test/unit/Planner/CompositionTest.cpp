//===- CompositionTest.cpp - Composition of chunks and stages -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/Composition.h"
#include "PlannerTesting.h"
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::planner;

namespace {

using Layers = std::map<std::pair<size_t, size_t>, int64_t>;

/// Three layers of one kind and five of another, on two stages with two chunks.
struct CompositionTest : testing::Test {
  PlanContext context = makeContext({0, 0, 0, 1, 1, 1, 1, 1}, 2, 2);
  Assignment assignment = {{2, 2, 1, 3}, {1, 3, 1, 1, 2, 2, 3, 3}};

  CompositionTest() { context.treatments = makeFourTreatments(2); }
};

} // namespace

TEST_F(CompositionTest, CountsLayersOfChunksAndStages) {
  const std::vector<Composition> chunks = composeChunks(context, assignment);
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(chunks[0].layers, (Layers{{{0, 1}, 1}, {{0, 3}, 1}}));
  EXPECT_EQ(chunks[1].layers, (Layers{{{0, 1}, 1}, {{1, 1}, 1}}));
  EXPECT_EQ(chunks[2].layers, (Layers{{{1, 2}, 1}}));
  EXPECT_EQ(chunks[3].layers, (Layers{{{1, 2}, 1}, {{1, 3}, 2}}));
  EXPECT_EQ(chunks[0].extras, std::set<size_t>{0});
  EXPECT_TRUE(chunks[1].extras.empty());
  EXPECT_EQ(chunks[3].extras, std::set<size_t>{1});

  const std::vector<Composition> stages = composeStages(context, assignment);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].layers, (Layers{{{0, 1}, 1}, {{0, 3}, 1}, {{1, 2}, 1}}));
  EXPECT_EQ(stages[1].layers,
            (Layers{{{0, 1}, 1}, {{1, 1}, 1}, {{1, 2}, 1}, {{1, 3}, 2}}));
  EXPECT_EQ(stages[1].dropTreatments().layers,
            (Layers{{{0, 0}, 1}, {{1, 0}, 4}}));
  EXPECT_EQ(stages[1].extras, std::set<size_t>{1});
}

TEST_F(CompositionTest, PlansAndAssignmentsSayTheSame) {
  const solver::Plan plan = toPlan(context, assignment);
  ASSERT_EQ(plan.chunks.size(), 4U);
  EXPECT_EQ(plan.chunks[1].counts,
            (std::vector<std::vector<int64_t>>{{0, 1, 0, 0}, {0, 1, 0, 0}}));
  EXPECT_EQ(toAssignment(plan), assignment);
}

TEST_F(CompositionTest, FollowersAndTheLayerBeforeAreRunsOfTheirOwn) {
  PlanContext following = makeContext({0, 0, 0, 1}, 2);
  following.numFollowers = 1;
  const std::vector<LayerRun> runs = findRuns(following);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].count, 2);
  EXPECT_EQ(runs[1].count, 1);
  EXPECT_EQ(runs[1].kind, 0U);
  Assignment probe = {{3, 1}, {3, 3, 2, 1}};
  following.treatFollowers(probe);
  EXPECT_EQ(probe.treatments, (std::vector<size_t>{3, 3, 2, 2}));
}

TEST_F(CompositionTest, KindsThatComeAgainAreRunsOfTheirOwn) {
  const PlanContext alternating = makeContext({0, 0, 1, 0}, 1);
  const std::vector<LayerRun> runs = findRuns(alternating);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].count, 2);
  EXPECT_EQ(runs[2].kind, 0U);
  EXPECT_EQ(alternating.getNumKinds(), 2U);
}
