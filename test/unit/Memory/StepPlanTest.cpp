//===- StepPlanTest.cpp - Compact plans of training steps -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/StepPlan.h"
#include "ExpandedStep.h"
#include "SampleSteps.h"
#include "test/unit/Campaign.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::memory;

namespace {

TEST(StepPlanTest, PlansASmallStep) {
  StepProblem step = makeSmallStep();
  // Task 1 at instruction 1: weight 112, both frames of 64, t0 32, message 16.
  StepLiveBound bound = step.maxLive();
  EXPECT_EQ(bound.bytes, 112 + 64 + 64 + 32 + 16);
  EXPECT_TRUE((bound.moment == StepMoment{1, 1}));
  llvm::Expected<StepPlan> plan = planStep(step);
  ASSERT_TRUE(static_cast<bool>(plan));
  expectLegal(step, *plan);
  EXPECT_EQ(plan->arenaSize, bound.bytes);
  EXPECT_TRUE(plan->isOptimal());
}

TEST(StepPlanTest, ShowsWhatIsAliveLargestFirst) {
  StepProblem step = makeSmallStep();
  std::vector<std::string> names;
  for (const LiveBuffer &buffer : step.liveAt({2, 2}))
    names.push_back((buffer.owner + "/" + buffer.name + "/" +
                     std::to_string(buffer.instance) + "/" +
                     std::to_string(buffer.size))
                        .str());
  EXPECT_THAT(names, testing::ElementsAre("/weight/-1/112", "chunk/r1/1/48",
                                          "backward/g1/0/32", "chunk/r0/0/16",
                                          "chunk/r0/1/16", "backward/g2/0/0"));
}

TEST(StepPlanTest, PlacesThePartsOfAFrameApart) {
  StepProblem step = makeThreePhases();
  StepPlan plan = llvm::cantFail(planStep(step));
  expectLegal(step, plan);
  EXPECT_EQ(plan.frames[0].parts.size(), 3u);
  EXPECT_EQ(plan.arenaSize, 2 * (64 + 32));
  StepPlanOptions whole;
  whole.splitFrames = false;
  plan = llvm::cantFail(planStep(step, whole));
  expectLegal(step, plan);
  EXPECT_EQ(plan.frames[0].parts.size(), 1u);
}

TEST(StepPlanTest, PlansRandomStepsLegally) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomStep(seed);
    ASSERT_EQ(llvm::toString(step.check()), "");
    llvm::Expected<StepPlan> plan = planStep(step);
    ASSERT_TRUE(static_cast<bool>(plan));
    expectLegal(step, *plan);
    if (HasFailure())
      return;
  }
}

TEST(StepPlanTest, PlansRandomPhasesLegally) {
  int64_t numSplit = 0, numSmaller = 0, numLarger = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomPhases(seed);
    ASSERT_EQ(llvm::toString(step.check()), "");
    StepPlanOptions options;
    options.searchWork = 100'000;
    options.shapeWork = 100'000;
    StepPlan plan = llvm::cantFail(planStep(step, options));
    expectLegal(step, plan);
    options.splitFrames = false;
    StepPlan whole = llvm::cantFail(planStep(step, options));
    expectLegal(step, whole);
    if (HasFailure())
      return;
    numSplit += llvm::any_of(plan.frames, [](const PlannedFrame &frame) {
      return frame.parts.size() > 4;
    });
    numSmaller += plan.arenaSize < whole.arenaSize;
    numLarger += plan.arenaSize > whole.arenaSize;
  }
  EXPECT_GT(numSplit, 20);
  EXPECT_GT(numSmaller, 2 * numLarger);
}

/// Where the temporaries of a frame are laid out anew, the frame may end lower
/// than before.
TEST(StepPlanTest, PlansRandomTemporariesLegally) {
  const uint64_t first = mf::getCampaignSeed(0);
  for (uint64_t seed = first, e = first + mf::getCampaignCount(40); seed < e;
       ++seed) {
    SCOPED_TRACE(seed);
    StepProblem step = makeRandomTemporaries(seed);
    ASSERT_EQ(llvm::toString(step.check()), "");
    StepPlanOptions options;
    // As with many more temporaries, heuristics end before they have tried all.
    options.packingWork = 3000;
    options.searchWork = 100'000;
    expectLegal(step, llvm::cantFail(planStep(step, options)));
    if (HasFailure())
      return;
  }
}

/// Returns where a plan puts each buffer whenever it is live.
static std::vector<int64_t> planOffsets(const StepProblem &step,
                                        const StepPlanOptions &options = {}) {
  const StepPlan plan = llvm::cantFail(planStep(step, options));
  return expandStep(step, &plan).offsets;
}

/// A memo serves other acceptable gaps, less work and other steps, too.
TEST(StepPlanTest, PlansTheSameWithAMemo) {
  const auto memo = std::make_shared<PackMemo>();
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const StepProblem step =
        seed % 2 == 0 ? makeRandomPhases(seed) : makeRandomStep(seed);
    for (const double gap : {0.05, 0.001, 0.2, 0.0})
      for (const int64_t searchWork : {100'000, 0}) {
        StepPlanOptions options;
        options.acceptableGap = gap;
        options.searchWork = searchWork;
        options.shapeWork = 50'000;
        const std::vector<int64_t> offsets = planOffsets(step, options);
        options.memo = memo;
        ASSERT_EQ(planOffsets(step, options), offsets);
        ASSERT_EQ(planOffsets(step, options), offsets);
      }
  }
}

TEST(StepPlanTest, PutsTaskBuffersIntoHolesOfScratch) {
  StepProblem step = makeStepWithHole();
  StepPlan plan = llvm::cantFail(planStep(step));
  expectLegal(step, plan);
  EXPECT_EQ(plan.arenaSize, 64);
}

TEST(StepPlanTest, PutsWhatIsPrefetchedWhereForwardWas) {
  StepProblem step = makeSwappedStep(20, 12);
  StepPlan plan = llvm::cantFail(planStep(step));
  expectLegal(step, plan);
  EXPECT_LE(plan.getGap(), 0.001);
}

} // namespace
