//===- LearningRateTest.cpp - The schedule of a program -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/LearningRate.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::ranks;

namespace {

program::LearningRateRule
makeSchedule(const char *type,
             std::map<std::string, program::ScheduleValue> parameters) {
  program::LearningRateRule schedule;
  schedule.type = type;
  schedule.parameters = std::move(parameters);
  return schedule;
}

TEST(LearningRateTest, ReadsTheKeysOfTheYaml) {
  auto schedule =
      makeLrSchedule(makeSchedule("CosineWithWarmUpLR",
                                  {{"learning_rate", 1e-3},
                                   {"lr_end", 1e-4},
                                   {"warmup_steps", int64_t{10}},
                                   {"total_steps", int64_t{110}},
                                   {"decay_type", std::string("cosine")}}),
                     /*totalSteps=*/1000);
  ASSERT_TRUE(static_cast<bool>(schedule));
  EXPECT_EQ(schedule->getLearningRate(0), 0.0F);
  EXPECT_EQ(schedule->getLearningRate(5), 5e-4F);
  EXPECT_EQ(schedule->getLearningRate(10), 1e-3F);
  EXPECT_FLOAT_EQ(schedule->getLearningRate(60), 5.5e-4F);
  EXPECT_EQ(schedule->getLearningRate(110), 1e-4F);
}

TEST(LearningRateTest, TakesTheStepsOfTheRunForTotalSteps) {
  auto schedule = makeLrSchedule(
      makeSchedule("LinearWithWarmUpLR", {{"learning_rate", int64_t{1}},
                                          {"warmup_steps", int64_t{0}},
                                          {"total_steps", int64_t{-1}}}),
      /*totalSteps=*/4);
  ASSERT_TRUE(static_cast<bool>(schedule));
  EXPECT_EQ(schedule->getLearningRate(1), 0.75F);
  EXPECT_EQ(schedule->getLearningRate(3), 0.25F);
}

TEST(LearningRateTest, LeavesWhatIsMissingToTheSchedule) {
  auto make = [](const char *type) {
    auto schedule =
        makeLrSchedule(makeSchedule(type, {{"learning_rate", 1.0},
                                           {"warmup_steps", int64_t{0}},
                                           {"total_steps", int64_t{-1}}}),
                       /*totalSteps=*/100);
    EXPECT_TRUE(static_cast<bool>(schedule)) << type;
    return *schedule;
  };
  LrSchedule polynomial = make("PolynomialWithWarmUpLR");
  EXPECT_FLOAT_EQ(polynomial.getLearningRate(50), 0.5F);
  EXPECT_FLOAT_EQ(polynomial.getLearningRate(100), 1e-7F);
  // Half a cosine falls to nothing; a whole one of period pi as well.
  EXPECT_FLOAT_EQ(make("CosineWithWarmUpLR").getLearningRate(50), 0.5F);
  EXPECT_NEAR(make("CosineWithRestartsAndWarmUpLR").getLearningRate(99), 0.0,
              1e-3);
}

TEST(LearningRateTest, RefusesOtherTypes) {
  auto schedule = makeLrSchedule(
      makeSchedule("ConstantWarmUpLR", {{"learning_rate", std::string("x")}}),
      4);
  ASSERT_FALSE(static_cast<bool>(schedule));
  EXPECT_EQ(llvm::toString(schedule.takeError()),
            "lr_schedule: expected a number as 'learning_rate'");
  schedule =
      makeLrSchedule(makeSchedule("ConstantWarmUpLR", {{"learning_rate", 1e-3},
                                                       {"warmup_steps", 0.5}}),
                     4);
  ASSERT_FALSE(static_cast<bool>(schedule));
  EXPECT_EQ(llvm::toString(schedule.takeError()),
            "lr_schedule: expected an integer as 'warmup_steps'");
  schedule = makeLrSchedule(makeSchedule("NoSuchLR", {}), 4);
  ASSERT_FALSE(static_cast<bool>(schedule));
  EXPECT_THAT(llvm::toString(schedule.takeError()),
              ::testing::HasSubstr("NoSuchLR"));
}

} // namespace
