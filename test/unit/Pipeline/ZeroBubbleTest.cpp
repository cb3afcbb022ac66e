//===- ZeroBubbleTest.cpp - Bubbles and peaks as published ----------------===//

#include "ScheduleTesting.h"
#include "gtest/gtest.h"

using namespace mf::schedule;

namespace {

TEST(ZeroBubbleTest, H1HasAThirdOfTheBubbleOf1F1B) {
  for (int64_t stages = 1; stages <= 16; ++stages)
    for (int64_t microBatches = stages; microBatches <= 3 * stages + 1;
         ++microBatches) {
      SCOPED_TRACE(testing::Message() << stages << " " << microBatches);
      Schedule whole = build("1f1b", stages, 1, microBatches);
      Schedule split = build("zero-bubble-h1", stages, 1, microBatches);
      EXPECT_EQ(getUnitEnd(whole) - 3 * microBatches, 3 * (stages - 1));
      EXPECT_EQ(getUnitEnd(split) - 3 * microBatches, stages - 1);
      for (int64_t stage = 0; stage < stages; ++stage) {
        EXPECT_EQ(whole.getMaxInFlight(stage), stages - stage);
        EXPECT_LE(split.getMaxInFlight(stage), whole.getMaxInFlight(0));
      }
    }
}

TEST(ZeroBubbleTest, H1WithFewMicroBatchesIsNotWorseThan1F1B) {
  for (int64_t stages = 1; stages <= 16; ++stages)
    for (int64_t microBatches = 1; microBatches < stages; ++microBatches) {
      Schedule split = build("zero-bubble-h1", stages, 1, microBatches);
      EXPECT_LE(getUnitEnd(split),
                getUnitEnd(build("1f1b", stages, 1, microBatches)));
      for (int64_t stage = 0; stage < stages; ++stage)
        EXPECT_LE(split.getMaxInFlight(stage), microBatches);
    }
}

TEST(ZeroBubbleTest, VNeverIdles) {
  for (int64_t stages = 1; stages <= 16; ++stages)
    for (int64_t microBatches : {2 * stages, 2 * stages + 1, 3 * stages,
                                 3 * stages + 2, 5 * stages, 64 + stages}) {
      SCOPED_TRACE(testing::Message() << stages << " " << microBatches);
      Schedule schedule = build("zero-bubble-v", stages, 2, microBatches);
      for (int64_t stage = 0; stage < stages; ++stage) {
        EXPECT_EQ(getIdleTime(schedule, stage), 0);
        EXPECT_LE(schedule.getMaxInFlight(stage), 2 * stages);
      }
      // The last stage starts that much behind the first.
      EXPECT_EQ(getUnitEnd(schedule) - 6 * microBatches, stages - 1);
    }
}

} // namespace
