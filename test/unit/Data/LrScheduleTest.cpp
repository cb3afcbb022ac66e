//===- LrScheduleTest.cpp -------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Expected values are worked out by hand from the definitions in LrSchedule.h.
//
//===----------------------------------------------------------------------===//

#include "mf/Support/LrSchedule.h"
#include "TestFiles.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace llvm;
using namespace mf;
using testing::HasSubstr;

namespace {

LrScheduleConfig makeOptions(const char *type, double rate = 0.01) {
  LrScheduleConfig options;
  options.type = type;
  options.learningRate = rate;
  return options;
}

LrSchedule create(const LrScheduleConfig &options) {
  return cantFail(LrSchedule::create(options));
}

constexpr float nearly = 1e-9F;

TEST(LrScheduleTest, PlainAndConstant) {
  EXPECT_EQ(create(makeOptions("")).getLearningRate(0), 0.01F);
  EXPECT_EQ(create(makeOptions("")).getLearningRate(1000000), 0.01F);
  LrScheduleConfig options = makeOptions("ConstantWarmUpLR");
  options.warmupSteps = 10;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(0), 0.0F);
  EXPECT_EQ(schedule.getLearningRate(1), 0.001F);
  EXPECT_EQ(schedule.getLearningRate(5), 0.005F);
  EXPECT_EQ(schedule.getLearningRate(10), 0.01F);
  EXPECT_EQ(schedule.getLearningRate(11), 0.01F);
  EXPECT_EQ(schedule.getLearningRate(-3), 0.0F);
  options.warmupLrInit = 0.002; // up by 0.008 in ten steps
  EXPECT_NEAR(create(options).getLearningRate(5), 0.006, nearly);
  EXPECT_EQ(create(options).getLearningRate(10), 0.01F);
}

TEST(LrScheduleTest, LateRatesBeginBeforeAWarmUp) {
  LrScheduleConfig options = makeOptions("ConstantWarmUpLR");
  options.warmupSteps = 10;
  options.lateSteps = 1;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(0), -0.001F);
  EXPECT_EQ(schedule.getLearningRate(1), 0.0F);
  EXPECT_EQ(schedule.getLearningRate(11), 0.01F);
  options.warmupSteps = 0;
  EXPECT_EQ(create(options).getLearningRate(0), 0.01F);
  options = makeOptions("CosineAnnealingLR");
  options.tMax = 2;
  options.lateSteps = 1;
  EXPECT_NEAR(create(options).getLearningRate(0), 0.005, nearly);
  options.lateSteps = -1;
  EXPECT_THAT(toString(LrSchedule::create(options).takeError()),
              HasSubstr("late_steps is -1, expected 0 or more"));
}

TEST(LrScheduleTest, WarmupRatioWinsAndRoundsDown) {
  LrScheduleConfig options = makeOptions("ConstantWarmUpLR");
  options.warmupSteps = 10;
  options.warmupRatio = 0.03;
  options.totalSteps = 99; // 2.97 steps
  EXPECT_EQ(create(options).getLearningRate(1), 0.005F);
  EXPECT_EQ(create(options).getLearningRate(2), 0.01F);
  options.warmupRatio = 0;
  EXPECT_EQ(create(options).getLearningRate(0), 0.01F);
}

TEST(LrScheduleTest, Linear) {
  LrScheduleConfig options = makeOptions("LinearWithWarmUpLR");
  options.warmupSteps = 2;
  options.totalSteps = 10;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(1), 0.005F);
  EXPECT_EQ(schedule.getLearningRate(2), 0.01F);
  EXPECT_EQ(schedule.getLearningRate(4), 0.0075F); // 6 of 8 steps left
  EXPECT_EQ(schedule.getLearningRate(9), 0.00125F);
  EXPECT_EQ(schedule.getLearningRate(10), 0.0F);
  EXPECT_EQ(schedule.getLearningRate(12), 0.0F);
}

TEST(LrScheduleTest, Cosine) {
  LrScheduleConfig options = makeOptions("CosineWithWarmUpLR");
  options.warmupSteps = 2;
  options.totalSteps = 14;
  options.lrEnd = 0.002;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(0), 0.0F);
  EXPECT_EQ(schedule.getLearningRate(2), 0.01F);
  // p = 1/6, 1/4, 1/3, 1/2, 2/3: cos = sqrt(3)/2, sqrt(1/2), 1/2, 0, -1/2.
  EXPECT_NEAR(schedule.getLearningRate(4),
              0.002 + 0.008 * (1 + std::sqrt(3.0) / 2) / 2, nearly);
  EXPECT_NEAR(schedule.getLearningRate(5),
              0.002 + 0.008 * (1 + std::sqrt(0.5)) / 2, nearly);
  EXPECT_NEAR(schedule.getLearningRate(6), 0.002 + 0.008 * 0.75, nearly);
  EXPECT_NEAR(schedule.getLearningRate(8), 0.006, nearly);
  EXPECT_NEAR(schedule.getLearningRate(10), 0.004, nearly);
  EXPECT_EQ(schedule.getLearningRate(14), 0.002F);
  EXPECT_EQ(schedule.getLearningRate(99), 0.002F);

  options.decaySteps = 6; // half the decay, twice as fast
  schedule = create(options);
  EXPECT_NEAR(schedule.getLearningRate(4), 0.002 + 0.008 * 0.75, nearly);
  EXPECT_NEAR(schedule.getLearningRate(5), 0.006, nearly);
  EXPECT_EQ(schedule.getLearningRate(8), 0.002F);
  options.decayRatio = 0.5; // 7 steps win over 6
  EXPECT_GT(create(options).getLearningRate(8), 0.002F);
  EXPECT_EQ(create(options).getLearningRate(9), 0.002F);
}

TEST(LrScheduleTest, CosineCycles) {
  LrScheduleConfig options = makeOptions("CosineWithWarmUpLR");
  options.totalSteps = 8;
  options.numCycles = 1; // down and up again
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(0), 0.01F);
  EXPECT_NEAR(schedule.getLearningRate(2), 0.005, nearly);
  EXPECT_NEAR(schedule.getLearningRate(4), 0, nearly);
  EXPECT_NEAR(schedule.getLearningRate(6), 0.005, nearly);
}

TEST(LrScheduleTest, CosineWithRestarts) {
  LrScheduleConfig options = makeOptions("CosineWithRestartsAndWarmUpLR");
  options.warmupSteps = 4;
  options.totalSteps = 16;
  options.numCycles = 2; // two falls of six steps
  options.lrEnd = 0.001;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(2), 0.005F);
  EXPECT_EQ(schedule.getLearningRate(4), 0.01F);
  EXPECT_NEAR(schedule.getLearningRate(6), 0.001 + 0.009 * 0.75, nearly);
  EXPECT_NEAR(schedule.getLearningRate(8), 0.001 + 0.009 * 0.25, nearly);
  EXPECT_EQ(schedule.getLearningRate(10), 0.01F);
  EXPECT_NEAR(schedule.getLearningRate(13), 0.0055, nearly);
  EXPECT_EQ(schedule.getLearningRate(16), 0.001F);
}

TEST(LrScheduleTest, Polynomial) {
  LrScheduleConfig options = makeOptions("PolynomialWithWarmUpLR");
  options.warmupSteps = 2;
  options.totalSteps = 12;
  options.lrEnd = 0.002;
  EXPECT_NEAR(create(options).getLearningRate(7), 0.006, nearly);
  options.power = 2;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(1), 0.005F);
  EXPECT_EQ(schedule.getLearningRate(2), 0.01F);
  EXPECT_NEAR(schedule.getLearningRate(7), 0.002 + 0.008 * 0.25, nearly);
  EXPECT_EQ(schedule.getLearningRate(12), 0.002F);
  options.lrEnd.reset();
  EXPECT_EQ(create(options).getLearningRate(12), 1e-7F);
}

TEST(LrScheduleTest, WarmUpStableDecay) {
  LrScheduleConfig options = makeOptions("WarmUpStableDecayLR");
  options.warmupSteps = 2;
  options.totalSteps = 20;
  options.decayStartSteps = 10;
  options.lrEnd = 0.001;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(1), 0.005F);
  EXPECT_EQ(schedule.getLearningRate(2), 0.01F);
  EXPECT_EQ(schedule.getLearningRate(10), 0.01F);
  EXPECT_NEAR(schedule.getLearningRate(15), 0.0055, nearly);
  EXPECT_EQ(schedule.getLearningRate(20), 0.001F);
  EXPECT_EQ(schedule.getLearningRate(25), 0.001F);
  options.decayStartRatio = 0.9; // two steps of decay
  EXPECT_NEAR(create(options).getLearningRate(19), 0.0055, nearly);
  options.decayStartRatio = 1;
  EXPECT_EQ(create(options).getLearningRate(19), 0.01F);
}

TEST(LrScheduleTest, CosineAnnealing) {
  LrScheduleConfig options = makeOptions("CosineAnnealingLR", 0.005);
  options.tMax = 10;
  options.etaMin = 1e-7;
  LrSchedule schedule = create(options);
  EXPECT_EQ(schedule.getLearningRate(0), 0.005F);
  EXPECT_NEAR(schedule.getLearningRate(1),
              1e-7 + 0.0049999 * (1 + 0.95105651629515357) / 2, nearly);
  EXPECT_NEAR(schedule.getLearningRate(5), 0.00250005, nearly);
  EXPECT_NEAR(schedule.getLearningRate(10), 1e-7, nearly);
  EXPECT_NEAR(schedule.getLearningRate(20), 0.005, nearly);
}

TEST(LrScheduleTest, CosineAnnealingWarmRestarts) {
  LrScheduleConfig options = makeOptions("CosineAnnealingWarmRestarts", 0.008);
  options.t0 = 4;
  LrSchedule schedule = create(options);
  for (int64_t restart : {0, 4, 8, 4000000})
    EXPECT_EQ(schedule.getLearningRate(restart), 0.008F);
  EXPECT_NEAR(schedule.getLearningRate(6), 0.004, nearly);
  options.tMult = 2; // periods of 4, 8, 16
  schedule = create(options);
  for (int64_t restart : {0, 4, 12, 28})
    EXPECT_EQ(schedule.getLearningRate(restart), 0.008F);
  EXPECT_NEAR(schedule.getLearningRate(2), 0.004, nearly);
  EXPECT_NEAR(schedule.getLearningRate(8), 0.004, nearly);
  EXPECT_NEAR(schedule.getLearningRate(20), 0.004, nearly);
  EXPECT_GE(schedule.getLearningRate(std::numeric_limits<int64_t>::max()), 0);
}

TEST(LrScheduleTest, ShortNames) {
  const std::pair<const char *, const char *> names[] = {
      {"constant", "ConstantWarmUpLR"},
      {"linear", "LinearWithWarmUpLR"},
      {"cosine", "CosineWithWarmUpLR"},
      {"cosine_with_restarts", "CosineWithRestartsAndWarmUpLR"},
      {"polynomial", "PolynomialWithWarmUpLR"}};
  for (auto [shortName, className] : names) {
    LrScheduleConfig options = makeOptions(shortName);
    options.totalSteps = 10;
    EXPECT_EQ(create(options).getType(), className);
  }
}

TEST(LrScheduleTest, WarmUpLongerThanTheRun) {
  for (const char *type :
       {"ConstantWarmUpLR", "LinearWithWarmUpLR", "CosineWithWarmUpLR",
        "CosineWithRestartsAndWarmUpLR", "PolynomialWithWarmUpLR",
        "WarmUpStableDecayLR"}) {
    LrScheduleConfig options = makeOptions(type);
    options.totalSteps = 5;
    options.warmupSteps = 5;
    for (int64_t step = 0; step < 20; ++step) {
      const float rate = create(options).getLearningRate(step);
      EXPECT_GE(rate, 0.0F) << type << step;
      EXPECT_LE(rate, 0.01F) << type << step;
    }
  }
}

TEST(LrScheduleTest, Refusals) {
  auto error = [](LrScheduleConfig options, auto change) {
    change(options);
    return message(LrSchedule::create(options));
  };
  LrScheduleConfig cosine = makeOptions("CosineWithWarmUpLR");
  cosine.totalSteps = 10;
  EXPECT_EQ(error(cosine, [](auto &) {}), "");
  EXPECT_EQ(error(cosine, [](auto &o) { o.type = "CosineWithWarmupLR"; }),
            "lr_schedule: unknown type 'CosineWithWarmupLR'; did you mean "
            "'CosineWithWarmUpLR'?");
  EXPECT_EQ(error(cosine, [](auto &o) { o.learningRate = -1; }),
            "lr_schedule: learning_rate is -1, expected a number of 0 or more");
  EXPECT_THAT(error(cosine, [](auto &o) { o.learningRate = std::nan(""); }),
              HasSubstr("learning_rate is nan"));
  EXPECT_EQ(error(cosine, [](auto &o) { o.totalSteps = -1; }),
            "lr_schedule: CosineWithWarmUpLR needs total_steps");
  EXPECT_THAT(error(cosine, [](auto &o) { o.totalSteps = -2; }),
              HasSubstr("total_steps is -2, expected 1 or more"));
  EXPECT_THAT(error(cosine, [](auto &o) { o.warmupRatio = 1.5; }),
              HasSubstr("warmup_ratio is 1.5, expected 0 to 1"));
  EXPECT_THAT(error(cosine, [](auto &o) { o.warmupSteps = -1; }),
              HasSubstr("warmup_steps is -1, expected 0 or more"));
  EXPECT_THAT(error(cosine, [](auto &o) { o.numCycles = -1; }),
              HasSubstr("num_cycles is -1"));
  EXPECT_THAT(error(cosine, [](auto &o) { o.lrEnd = -1; }),
              HasSubstr("lr_end is -1"));
  EXPECT_THAT(error(makeOptions("ConstantWarmUpLR"),
                    [](auto &o) { o.warmupRatio = 0.1; }),
              HasSubstr("warmup_ratio needs total_steps"));
  EXPECT_THAT(error(cosine,
                    [](auto &o) {
                      o.type = "PolynomialWithWarmUpLR";
                      o.lrEnd = 0.01;
                    }),
              HasSubstr("lr_end is 0.01, expected less than learning_rate"));
  EXPECT_THAT(error(cosine,
                    [](auto &o) {
                      o.type = "polynomial";
                      o.power = 0;
                    }),
              HasSubstr("power is 0, expected a number over 0"));
  EXPECT_THAT(error(cosine,
                    [](auto &o) {
                      o.type = "WarmUpStableDecayLR";
                      o.decayStartSteps = 11;
                    }),
              HasSubstr("decay_start_steps is 11"));
  EXPECT_EQ(error(makeOptions("CosineAnnealingLR"), [](auto &) {}),
            "lr_schedule: CosineAnnealingLR needs t_max");
  EXPECT_THAT(error(makeOptions("CosineAnnealingWarmRestarts"),
                    [](auto &o) { o.t0 = 0; }),
              HasSubstr("t_0 is 0, expected 1 or more"));
  EXPECT_THAT(error(makeOptions("CosineAnnealingWarmRestarts"),
                    [](auto &o) {
                      o.t0 = 1;
                      o.tMult = 0;
                    }),
              HasSubstr("t_mult is 0, expected 1 or more"));
}

} // namespace
