//===- RecomputeTaskTest.cpp - Recompute as tasks of a schedule -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Times are for F = R = 1 and B = 2, as published simulations of MindSpeed's
// orders have them.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"
#include "mf/Perf/EventEngine/PipelineModel.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace mf::schedule;

namespace {

/// The schedule with the recompute tasks that its policy chooses.
Schedule buildWithTasks(llvm::StringRef name, int64_t stages, int64_t chunks,
                        int64_t microBatches) {
  const Policy *policy = llvm::cantFail(findPolicy(name));
  Pipeline pipeline = policy->place(stages, chunks, microBatches);
  policy->chooseRecompute(pipeline);
  return llvm::cantFail(buildSchedule(*policy, pipeline));
}

/// The end of a step whose backward of each chunk recomputes, for so long.
double getEndWithin(const Schedule &schedule, std::vector<double> recompute) {
  mf::events::PipelineCosts costs;
  costs.forward.assign(schedule.pipeline.getNumChunks(), 1);
  costs.recompute = std::move(recompute);
  return llvm::cantFail(mf::events::simulatePipeline(schedule, costs)).end;
}

std::vector<int64_t> countRecomputes(const Schedule &schedule) {
  std::vector<int64_t> counts;
  for (const std::vector<Task> &tasks : schedule.stages)
    counts.push_back(llvm::count_if(tasks, [](const Task &task) {
      return task.phase == Phase::Recompute;
    }));
  return counts;
}

using Counts = std::vector<int64_t>;

TEST(RecomputeTaskTest, InAdvanceIsShorterThanInBackward) {
  struct Published {
    int64_t stages, microBatches;
    int64_t without, within, lastKept, inAdvance;
  };
  for (const Published &published : {Published{4, 16, 105, 140, 137, 134},
                                     Published{8, 32, 213, 284, 281, 274}}) {
    Schedule plain =
        build("interleaved", published.stages, 2, published.microBatches);
    EXPECT_EQ(getUnitEnd(plain), published.without);
    std::vector<double> recompute(plain.pipeline.getNumChunks(), 1);
    EXPECT_EQ(getEndWithin(plain, recompute),
              static_cast<double>(published.within));
    recompute.back() = 0;
    EXPECT_EQ(getEndWithin(plain, recompute),
              static_cast<double>(published.lastKept));
    Schedule inAdvance = buildWithTasks(
        "recompute-in-advance", published.stages, 2, published.microBatches);
    EXPECT_EQ(getUnitEnd(inAdvance), published.inAdvance);
    EXPECT_EQ(getEndWithin(inAdvance, recompute),
              static_cast<double>(published.inAdvance));
  }
}

TEST(RecomputeTaskTest, InBubbleHoldsFewerChunks) {
  Schedule four = buildWithTasks("recompute-in-bubble", 4, 2, 16);
  EXPECT_EQ(getUnitEnd(four), 107);
  EXPECT_EQ(countRecomputes(four), Counts({7, 3, 0, 0}));
  EXPECT_EQ(getPeaks(build("interleaved", 4, 2, 16)), Counts({11, 9, 7, 5}));
  EXPECT_EQ(getPeaks(four), Counts({8, 8, 7, 5}));

  Schedule eight = buildWithTasks("recompute-in-bubble", 8, 2, 32);
  EXPECT_EQ(getUnitEnd(eight), 219);
  EXPECT_EQ(countRecomputes(eight), Counts({15, 11, 7, 3, 0, 0, 0, 0}));
  EXPECT_EQ(getPeaks(build("interleaved", 8, 2, 32)).front(), 23);
  EXPECT_EQ(getPeaks(eight).front(), 16);
}

TEST(RecomputeTaskTest, NoScheduleWaitsLongerThanInBackward) {
  int64_t shorter = 0;
  forEachSchedule(4, 2, 6, [&](const Schedule &schedule) {
    const Policy *policy = llvm::cantFail(findPolicy(schedule.name));
    if (schedule.pipeline.recomputed.empty() || policy->placesRecompute())
      return;
    // The same order with each recompute in the backward behind it.
    Schedule within = schedule;
    within.pipeline.recomputed.clear();
    for (size_t stage = 0; stage < within.pairs.size(); ++stage) {
      within.pairs[stage].clear();
      for (size_t position = 0; position < schedule.stages[stage].size();
           ++position)
        if (schedule.stages[stage][position].phase != Phase::Recompute)
          within.pairs[stage].push_back(schedule.pairs[stage][position]);
    }
    for (std::vector<Task> &tasks : within.stages)
      llvm::erase_if(tasks, [](const Task &task) {
        return task.phase == Phase::Recompute;
      });
    ASSERT_EQ(getText(within.verify()), "");
    std::vector<double> recompute;
    for (int64_t chunk = 0; chunk < within.pipeline.getNumChunks(); ++chunk)
      recompute.push_back(schedule.pipeline.recomputes(chunk, 0) ? 1 : 0);
    const double inTasks = getEndWithin(schedule, recompute);
    const double inBackward = getEndWithin(within, recompute);
    EXPECT_LE(inTasks, inBackward + 1e-9) << printToString(schedule);
    shorter += inTasks < inBackward - 1e-9 ? 1 : 0;
  });
  EXPECT_GT(shorter, 100);
}

TEST(RecomputeTaskTest, RecomputesRightBeforeTheGradient) {
  Schedule schedule = buildWithTasks("1f1b", 3, 1, 3);
  EXPECT_EQ(printToString(schedule), "stage 0: F0 F1 F2 R0 B0 R1 B1 R2 B2\n"
                                     "stage 1: F0 F1 R0 B0 F2 R1 B1 R2 B2\n"
                                     "stage 2: F0 R0 B0 F1 R1 B1 F2 R2 B2\n");
}

TEST(RecomputeTaskTest, ErrorsNameTheTasks) {
  Schedule schedule = buildWithTasks("1f1b", 1, 1, 2);
  std::swap(schedule.stages[0][1], schedule.stages[0][2]);
  EXPECT_EQ(getText(schedule.verify()),
            "B0 of stage 0 (task 1) runs before R0 of stage 0 (task 2), "
            "expected the recompute first");
  schedule = buildWithTasks("1f1b", 1, 1, 2);
  std::swap(schedule.stages[0][0], schedule.stages[0][1]);
  EXPECT_EQ(getText(schedule.verify()),
            "R0 of stage 0 (task 0) runs before F0 of stage 0 (task 1), "
            "expected the forward first");
  schedule.pipeline.recomputed.pop_back();
  EXPECT_EQ(getText(schedule.verify()),
            "a choice of recompute for 1 pairs of chunk and micro-batch, "
            "expected 2, or none");
  EXPECT_EQ(getText(tryBuild("recompute-in-bubble", 4, 2, 10).takeError()),
            "schedule 'recompute-in-bubble' takes groups of as many "
            "micro-batches as there are stages, but 4 stages have 10, expected "
            "a multiple of 4");
}

} // namespace
