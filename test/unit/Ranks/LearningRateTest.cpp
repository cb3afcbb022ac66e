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

/// LrScheduleTest has the rates of schedules.
void expectSchedule(const program::LearningRateRule &rule, int64_t totalSteps,
                    const LrScheduleConfig &options) {
  auto schedule = makeLrSchedule(rule, totalSteps);
  ASSERT_TRUE(static_cast<bool>(schedule));
  const LrSchedule expected = llvm::cantFail(LrSchedule::create(options));
  for (int64_t step = 0; step <= 120; ++step)
    EXPECT_EQ(schedule->getLearningRate(step), expected.getLearningRate(step));
}

TEST(LearningRateTest, ReadsTheKeysOfTheYaml) {
  LrScheduleConfig options;
  options.type = "CosineWithWarmUpLR";
  options.learningRate = 1e-3;
  options.lrEnd = 1e-4;
  options.warmupSteps = 10;
  options.totalSteps = 110;
  expectSchedule(makeSchedule("CosineWithWarmUpLR",
                              {{"learning_rate", 1e-3},
                               {"lr_end", 1e-4},
                               {"warmup_steps", int64_t{10}},
                               {"total_steps", int64_t{110}},
                               {"decay_type", std::string("cosine")}}),
                 /*totalSteps=*/1000, options);
}

/// The steps of the run stand for total steps that are not given.
TEST(LearningRateTest, LeavesWhatIsMissingToTheSchedule) {
  for (const char *type :
       {"LinearWithWarmUpLR", "PolynomialWithWarmUpLR", "CosineWithWarmUpLR",
        "CosineWithRestartsAndWarmUpLR"}) {
    LrScheduleConfig options;
    options.type = type;
    options.learningRate = 1;
    options.totalSteps = 100;
    expectSchedule(makeSchedule(type, {{"learning_rate", int64_t{1}},
                                       {"warmup_steps", int64_t{0}},
                                       {"total_steps", int64_t{-1}}}),
                   /*totalSteps=*/100, options);
  }
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
