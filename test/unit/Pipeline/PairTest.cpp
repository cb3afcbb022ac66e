//===- PairTest.cpp - Forward and backward as one slot --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Times are for F = 1 and B = 2, as published simulations of these orders have
// them. FB is the time of a pair.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"
#include "mf/Perf/EventEngine/PipelineModel.h"
#include "gtest/gtest.h"

using namespace mf::schedule;

namespace {

/// The end of a step in which a pair takes that long.
double getEnd(const Schedule &schedule, double pairTime) {
  mf::events::PipelineCosts costs;
  costs.forward.assign(schedule.pipeline.getNumChunks(), 1);
  costs.pairHidden = 3 - pairTime;
  return llvm::cantFail(mf::events::simulatePipeline(schedule, costs)).end;
}

using Counts = std::vector<int64_t>;

/// T = 2M(F + B) + (P - 1)(F + 2B - 3W) - (2M - P - 2)(F + B - FB).
TEST(PairTest, DualPipeVTakesTheTimeOfTheFormula) {
  for (int64_t stages = 2; stages <= 16; ++stages)
    for (int64_t microBatches : {2 * stages, 2 * stages + 1, 5 * stages}) {
      Schedule schedule = build("dualpipe-v-paired", stages, 2, microBatches);
      for (double pairTime : {2.0, 2.25, 3.0})
        EXPECT_EQ(getEnd(schedule, pairTime),
                  static_cast<double>(6 * microBatches + 2 * (stages - 1)) -
                      static_cast<double>(2 * microBatches - stages - 2) *
                          (3 - pairTime))
            << stages << " " << microBatches;
      EXPECT_EQ(getPeaks(schedule), Counts(stages, 2 * stages + 1));
    }
}

/// T = (Mv + P - 1)(F + B) - n (F + B - FB), with the n pairs of the last
/// stage: all of its forwards but those of the warm-up and one.
TEST(PairTest, OneForwardOneBackwardTakesTheTimeOfTheFormula) {
  for (int64_t stages = 1; stages <= 12; ++stages)
    for (int64_t chunks : {1, 2, 3}) {
      const int64_t microBatches = 4 * stages, runs = microBatches * chunks;
      Schedule schedule = build("1f1b-paired", stages, chunks, microBatches);
      EXPECT_EQ(getEnd(schedule, 2.0),
                static_cast<double>(3 * (runs + stages - 1) -
                                    (runs - 1 - (chunks - 1) * stages)))
          << stages << " " << chunks;
    }
  EXPECT_EQ(getPeaks(build("1f1b-paired", 4, 1, 16)), Counts({8, 6, 4, 2}));
  EXPECT_EQ(getPeaks(build("1f1b-paired", 4, 2, 16)), Counts({12, 10, 8, 6}));
}

TEST(PairTest, PairsAreSlotsOfTheOrder) {
  EXPECT_EQ(printToString(build("1f1b-paired", 2, 1, 4)),
            "stage 0: F0 F1 F2 F3&B0 B1 B2 B3\n"
            "stage 1: F0 F1&B0 F2&B1 F3&B2 B3\n");
  EXPECT_EQ(printToString(build("1f1b-paired-split", 2, 1, 4)),
            "stage 0: F0 F1 F2 F3&I0&W0 I1 W1 I2 W2 I3 W3\n"
            "stage 1: F0 F1&I0 W0 F2&I1 W1 F3&I2 W2 I3 W3\n");
  // The forward of the last stage's first pair does not wait for its partner.
  EXPECT_EQ(printToString(build("dualpipe-v-paired", 2, 2, 5)),
            "stage 0: F0.0 F0.1 F0.2 F3.0 I3.0 W3.0 F3.1 F0.3&I3.1&W3.1 "
            "F3.2&I0.0&W0.0 F0.4&I3.2&W3.2 F3.3&I0.1&W0.1 I3.3 W3.3 "
            "F3.4&I0.2&W0.2 I3.4 W3.4 I0.3 W0.3 I0.4 W0.4\n"
            "stage 1: F1.0 F2.0 F1.1 F2.1 F1.2 I2.0 W2.0 F2.2&I1.0&W1.0 "
            "F1.3&I2.1&W2.1 F2.3&I1.1&W1.1 F1.4&I2.2&W2.2 F2.4&I1.2&W1.2 I2.3 "
            "W2.3 I1.3 W1.3 I2.4 I1.4 W2.4 W1.4\n");
}

TEST(PairTest, SplitPairsSendBesideWeightGradients) {
  // A message that takes as long as a weight gradient costs the whole form a
  // wait between stages for each, and the split one nothing once it is warm.
  auto getEndWithMessages = [](llvm::StringRef name) {
    Schedule schedule = build(name, 4, 1, 16);
    mf::events::PipelineCosts costs;
    costs.forward.assign(4, 1);
    costs.pairHidden = 1;
    costs.transfers = mf::events::TransferMode::Overlapped;
    costs.transferTime = 1;
    return llvm::cantFail(mf::events::simulatePipeline(schedule, costs)).end;
  };
  EXPECT_LT(getEndWithMessages("1f1b-paired-split"),
            getEndWithMessages("1f1b-paired"));
}

TEST(PairTest, WrongSlotsAreRefused) {
  auto verify = [](std::vector<std::vector<bool>> pairs) {
    Schedule schedule = build("1f1b", 1, 1, 2);
    schedule.pairs = std::move(pairs);
    return getText(schedule.verify());
  };
  // F0 B0 F1 B1.
  EXPECT_EQ(verify({{false, false, false, false}}), "");
  EXPECT_EQ(verify({{true, false, false, false}}),
            "B0 of stage 0 (task 1) shares the slot of F0 of stage 0 (task 0), "
            "expected a forward and then a backward of another micro-batch or "
            "chunk, or its halves");
  EXPECT_EQ(verify({{false, true, false, false}}),
            "F1 of stage 0 (task 2) shares the slot of B0 of stage 0 (task 1), "
            "expected a forward and then a backward of another micro-batch or "
            "chunk, or its halves");
  EXPECT_EQ(verify({{false, false, false, true}}),
            "the slots of stage 0 are not those of its 4 tasks, expected a "
            "mark for each, and none for the last");
  EXPECT_EQ(verify({{false}}),
            "the slots of stage 0 are not those of its 4 tasks, expected a "
            "mark for each, and none for the last");
}

TEST(PairTest, StagesThatPairWhatWaitsForEachOtherAreRefused) {
  // Each stage pairs a task with one that waits for its partner over the other
  // stage.
  Schedule schedule = build("1f1b", 2, 1, 3);
  ASSERT_EQ(printToString(schedule), "stage 0: F0 F1 B0 F2 B1 B2\n"
                                     "stage 1: F0 B0 F1 B1 F2 B2\n");
  schedule.stages[1] = schedule.stages[0];
  for (Task &task : schedule.stages[1])
    task.chunk = 1;
  EXPECT_EQ(getText(schedule.verify()), "");
  schedule.pairs = {{false, true, false, true, false, false},
                    {false, true, false, true, false, false}};
  EXPECT_NE(getText(schedule.verify()).find("deadlock: "), std::string::npos);
}

} // namespace
