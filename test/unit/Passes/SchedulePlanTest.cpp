//===- SchedulePlanTest.cpp - 1F1B on any number of stages ----------------===//

#include "passes/schedule/SchedulePlan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

using namespace mf::passes;
using Phase = ScheduledRun::Phase;

namespace {

std::string print(const SchedulePlan &plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  plan.print(os);
  return text;
}

std::string verify(const SchedulePlan &plan, int64_t microBatches) {
  return llvm::toString(plan.verify(microBatches));
}

/// When every run of every stage ends if each takes one unit of time, starts
/// when its stage is free, and waits for what it reads; empty on deadlock.
std::optional<int64_t> simulate(const std::vector<SchedulePlan> &plans) {
  auto numStages = static_cast<int64_t>(plans.size());
  std::map<std::tuple<Phase, int64_t, int64_t>, int64_t> ends;
  std::vector<size_t> next(plans.size(), 0);
  std::vector<int64_t> free(plans.size(), 0);
  bool progress = true;
  while (progress) {
    progress = false;
    for (int64_t stage = 0; stage < numStages; ++stage) {
      while (next[stage] < plans[stage].runs.size()) {
        ScheduledRun run = plans[stage].runs[next[stage]];
        bool isForward = run.phase == Phase::Forward;
        int64_t before = isForward ? stage - 1 : stage + 1;
        int64_t start = free[stage];
        if (before >= 0 && before < numStages) {
          auto end = ends.find({run.phase, before, run.microBatch});
          if (end == ends.end())
            break;
          start = std::max(start, end->second);
        }
        ends[{run.phase, stage, run.microBatch}] = free[stage] = start + 1;
        ++next[stage];
        progress = true;
      }
    }
  }
  for (int64_t stage = 0; stage < numStages; ++stage)
    if (next[stage] != plans[stage].runs.size())
      return std::nullopt;
  return *std::max_element(free.begin(), free.end());
}

TEST(SchedulePlanTest, OneStageAlternates) {
  EXPECT_EQ(print(planOneForwardOneBackward(0, 1, 3)),
            "stage 0: F0 B0 F1 B1 F2 B2\n");
}

TEST(SchedulePlanTest, EarlierStagesRunAhead) {
  EXPECT_EQ(print(planOneForwardOneBackward(0, 3, 4)),
            "stage 0: F0 F1 F2 B0 F3 B1 B2 B3\n");
  EXPECT_EQ(print(planOneForwardOneBackward(1, 3, 4)),
            "stage 1: F0 F1 B0 F2 B1 F3 B2 B3\n");
  EXPECT_EQ(print(planOneForwardOneBackward(2, 3, 4)),
            "stage 2: F0 B0 F1 B1 F2 B2 F3 B3\n");
}

TEST(SchedulePlanTest, FewMicroBatchesOnlyWarmUpAndDrain) {
  EXPECT_EQ(print(planOneForwardOneBackward(0, 8, 2)),
            "stage 0: F0 F1 B0 B1\n");
}

// The published properties of 1F1B: every stage ends as soon as with GPipe,
// after (m + p - 1) forwards and as many backwards, but keeps at most p
// micro-batches in flight.
TEST(SchedulePlanTest, NoPlanDeadlocksAndBubblesAreMinimal) {
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t microBatches = 1; microBatches <= 20; ++microBatches) {
      SCOPED_TRACE(testing::Message() << stages << " stages, " << microBatches
                                      << " micro-batches");
      std::vector<SchedulePlan> plans;
      for (int64_t stage = 0; stage < stages; ++stage) {
        plans.push_back(planOneForwardOneBackward(stage, stages, microBatches));
        EXPECT_EQ(verify(plans.back(), microBatches), "");
        EXPECT_EQ(plans.back().getMaxInFlight(),
                  std::min(stages - stage, microBatches));
      }
      EXPECT_THAT(simulate(plans),
                  testing::Optional(2 * (microBatches + stages - 1)));
    }
}

TEST(SchedulePlanTest, RunsOfAMicroBatchStayInOrder) {
  SchedulePlan plan = planOneForwardOneBackward(1, 4, 6);
  int64_t forward = 0, backward = 0;
  for (const ScheduledRun &run : plan.runs)
    EXPECT_EQ(run.microBatch,
              run.phase == Phase::Forward ? forward++ : backward++);
}

TEST(SchedulePlanTest, VerifyNamesWhatIsWrong) {
  SchedulePlan plan;
  plan.stage = 2;
  plan.runs = {{Phase::Forward, 0}};
  EXPECT_EQ(verify(plan, 1), "stage 2: micro-batch 0 does not run backward");
  EXPECT_EQ(verify(plan, 0), "stage 2: micro-batch 0 does not exist");
  plan.runs = {{Phase::Backward, 0}, {Phase::Forward, 0}};
  EXPECT_EQ(verify(plan, 1), "stage 2: micro-batch 0 does not run forward and "
                             "then backward, once each");
  plan.runs = {{Phase::Forward, 0}, {Phase::Backward, 0}, {Phase::Backward, 0}};
  EXPECT_EQ(verify(plan, 1), "stage 2: micro-batch 0 does not run forward and "
                             "then backward, once each");
  plan.runs = {{Phase::Forward, -1}};
  EXPECT_EQ(verify(plan, 1), "stage 2: micro-batch -1 does not exist");
}

} // namespace
