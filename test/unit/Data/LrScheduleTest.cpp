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

/// Rates by step: exact, and up to 1e-9.
using Rates = std::vector<std::pair<int64_t, double>>;
void expectRates(const LrScheduleConfig &options, const Rates &exact,
                 const Rates &near = {}) {
  const LrSchedule schedule = create(options);
  for (auto [step, rate] : exact)
    EXPECT_EQ(schedule.getLearningRate(step), static_cast<float>(rate))
        << "step " << step;
  for (auto [step, rate] : near)
    EXPECT_NEAR(schedule.getLearningRate(step), rate, 1e-9) << "step " << step;
}

TEST(LrScheduleTest, PlainAndConstant) {
  expectRates(makeOptions(""), {{0, 0.01F}, {1000000, 0.01F}});
  LrScheduleConfig options = makeOptions("ConstantWarmUpLR");
  options.warmupSteps = 10;
  expectRates(options, {{0, 0.0F},
                        {1, 0.001F},
                        {5, 0.005F},
                        {10, 0.01F},
                        {11, 0.01F},
                        {-3, 0.0F}});
  options.warmupLrInit = 0.002; // up by 0.008 in ten steps
  expectRates(options, {{10, 0.01F}}, {{5, 0.006F}});
}

TEST(LrScheduleTest, LateRatesBeginBeforeAWarmUp) {
  LrScheduleConfig options = makeOptions("ConstantWarmUpLR");
  options.warmupSteps = 10;
  options.lateSteps = 1;
  expectRates(options, {{0, -0.001F}, {1, 0.0F}, {11, 0.01F}});
  options.warmupSteps = 0;
  expectRates(options, {{0, 0.01F}});
  options = makeOptions("CosineAnnealingLR");
  options.tMax = 2;
  options.lateSteps = 1;
  expectRates(options, {}, {{0, 0.005F}});
}

TEST(LrScheduleTest, WarmupRatioWinsAndRoundsDown) {
  LrScheduleConfig options = makeOptions("ConstantWarmUpLR");
  options.warmupSteps = 10;
  options.warmupRatio = 0.03;
  options.totalSteps = 99; // 2.97 steps
  expectRates(options, {{1, 0.005F}, {2, 0.01F}});
  options.warmupRatio = 0;
  expectRates(options, {{0, 0.01F}});
}

TEST(LrScheduleTest, Linear) {
  LrScheduleConfig options = makeOptions("LinearWithWarmUpLR");
  options.warmupSteps = 2;
  options.totalSteps = 10;
  // At step 4, 6 of 8 steps are left.
  expectRates(options, {{1, 0.005F},
                        {2, 0.01F},
                        {4, 0.0075F},
                        {9, 0.00125F},
                        {10, 0.0F},
                        {12, 0.0F}});
}

TEST(LrScheduleTest, Cosine) {
  LrScheduleConfig options = makeOptions("CosineWithWarmUpLR");
  options.warmupSteps = 2;
  options.totalSteps = 14;
  options.lrEnd = 0.002;
  // p = 1/6, 1/4, 1/3, 1/2, 2/3: cos = sqrt(3)/2, sqrt(1/2), 1/2, 0, -1/2.
  expectRates(options, {{0, 0.0F}, {2, 0.01F}, {14, 0.002F}, {99, 0.002F}},
              {{4, 0.002 + 0.008 * (1 + std::sqrt(3.0) / 2) / 2},
               {5, 0.002 + 0.008 * (1 + std::sqrt(0.5)) / 2},
               {6, 0.002 + 0.008 * 0.75},
               {8, 0.006},
               {10, 0.004}});
  options.decaySteps = 6; // half the decay, twice as fast
  expectRates(options, {{8, 0.002F}}, {{4, 0.002 + 0.008 * 0.75}, {5, 0.006}});
  options.decayRatio = 0.5; // 7 steps win over 6
  EXPECT_GT(create(options).getLearningRate(8), 0.002F);
  expectRates(options, {{9, 0.002F}});
}

TEST(LrScheduleTest, CosineCycles) {
  LrScheduleConfig options = makeOptions("CosineWithWarmUpLR");
  options.totalSteps = 8;
  options.numCycles = 1; // down and up again
  expectRates(options, {{0, 0.01F}}, {{2, 0.005}, {4, 0}, {6, 0.005}});
}

TEST(LrScheduleTest, CosineWithRestarts) {
  LrScheduleConfig options = makeOptions("CosineWithRestartsAndWarmUpLR");
  options.warmupSteps = 4;
  options.totalSteps = 16;
  options.numCycles = 2; // two falls of six steps
  options.lrEnd = 0.001;
  expectRates(
      options, {{2, 0.005F}, {4, 0.01F}, {10, 0.01F}, {16, 0.001F}},
      {{6, 0.001 + 0.009 * 0.75}, {8, 0.001 + 0.009 * 0.25}, {13, 0.0055}});
}

TEST(LrScheduleTest, Polynomial) {
  LrScheduleConfig options = makeOptions("PolynomialWithWarmUpLR");
  options.warmupSteps = 2;
  options.totalSteps = 12;
  options.lrEnd = 0.002;
  expectRates(options, {}, {{7, 0.006}});
  options.power = 2;
  expectRates(options, {{1, 0.005F}, {2, 0.01F}, {12, 0.002F}},
              {{7, 0.002 + 0.008 * 0.25}});
  options.lrEnd.reset();
  expectRates(options, {{12, 1e-7F}});
}

TEST(LrScheduleTest, WarmUpStableDecay) {
  LrScheduleConfig options = makeOptions("WarmUpStableDecayLR");
  options.warmupSteps = 2;
  options.totalSteps = 20;
  options.decayStartSteps = 10;
  options.lrEnd = 0.001;
  expectRates(
      options,
      {{1, 0.005F}, {2, 0.01F}, {10, 0.01F}, {20, 0.001F}, {25, 0.001F}},
      {{15, 0.0055}});
  options.decayStartRatio = 0.9; // two steps of decay
  expectRates(options, {}, {{19, 0.0055}});
  options.decayStartRatio = 1;
  expectRates(options, {{19, 0.01F}});
}

TEST(LrScheduleTest, CosineAnnealing) {
  LrScheduleConfig options = makeOptions("CosineAnnealingLR", 0.005);
  options.tMax = 10;
  options.etaMin = 1e-7;
  expectRates(options, {{0, 0.005F}},
              {{1, 1e-7 + 0.0049999 * (1 + 0.95105651629515357) / 2},
               {5, 0.00250005},
               {10, 1e-7},
               {20, 0.005}});
}

TEST(LrScheduleTest, CosineAnnealingWarmRestarts) {
  LrScheduleConfig options = makeOptions("CosineAnnealingWarmRestarts", 0.008);
  options.t0 = 4;
  expectRates(options,
              {{0, 0.008F}, {4, 0.008F}, {8, 0.008F}, {4000000, 0.008F}},
              {{6, 0.004}});
  options.tMult = 2; // periods of 4, 8, 16
  expectRates(options, {{0, 0.008F}, {4, 0.008F}, {12, 0.008F}, {28, 0.008F}},
              {{2, 0.004}, {8, 0.004}, {20, 0.004}});
  EXPECT_GE(
      create(options).getLearningRate(std::numeric_limits<int64_t>::max()), 0);
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
  LrScheduleConfig cosine = makeOptions("CosineWithWarmUpLR");
  cosine.totalSteps = 10;
  EXPECT_EQ(message(LrSchedule::create(cosine)), "");
  auto with = [&](const char *type) {
    LrScheduleConfig options = cosine;
    options.type = type;
    return options;
  };
  const LrScheduleConfig decay = with("WarmUpStableDecayLR"),
                         restarts = makeOptions("CosineAnnealingWarmRestarts");
  using Options = LrScheduleConfig;
  struct Case {
    LrScheduleConfig options;
    void (*change)(Options &);
    const char *message;
  };
  const Case cases[] = {
      {cosine, [](Options &o) { o.type = "CosineWithWarmupLR"; },
       "lr_schedule: unknown type 'CosineWithWarmupLR'; did you mean "
       "'CosineWithWarmUpLR'?"},
      {cosine, [](Options &o) { o.learningRate = -1; },
       "learning_rate is -1, expected a number of 0 or more"},
      {cosine, [](Options &o) { o.learningRate = std::nan(""); },
       "learning_rate is nan"},
      {cosine, [](Options &o) { o.totalSteps = -1; },
       "lr_schedule: CosineWithWarmUpLR needs total_steps"},
      {cosine, [](Options &o) { o.totalSteps = -2; },
       "total_steps is -2, expected 1 or more"},
      {cosine, [](Options &o) { o.warmupRatio = 1.5; },
       "warmup_ratio is 1.5, expected 0 to 1"},
      {cosine, [](Options &o) { o.warmupSteps = -1; },
       "warmup_steps is -1, expected 0 or more"},
      {cosine, [](Options &o) { o.lateSteps = -1; },
       "late_steps is -1, expected 0 or more"},
      {cosine, [](Options &o) { o.numCycles = -1; }, "num_cycles is -1"},
      {cosine, [](Options &o) { o.lrEnd = -1; }, "lr_end is -1"},
      {makeOptions("ConstantWarmUpLR"), [](Options &o) { o.warmupRatio = 0.1; },
       "warmup_ratio needs total_steps"},
      {with("PolynomialWithWarmUpLR"), [](Options &o) { o.lrEnd = 0.01; },
       "lr_end is 0.01, expected less than learning_rate"},
      {with("polynomial"), [](Options &o) { o.power = 0; },
       "power is 0, expected a number over 0"},
      {decay, [](Options &o) { o.decayStartSteps = 11; },
       "decay_start_steps is 11"},
      {makeOptions("CosineAnnealingLR"), [](Options &) {},
       "lr_schedule: CosineAnnealingLR needs t_max"},
      {restarts, [](Options &o) { o.t0 = 0; }, "t_0 is 0, expected 1 or more"},
      {restarts, [](Options &o) { o.t0 = 1, o.tMult = 0; },
       "t_mult is 0, expected 1 or more"}};
  for (const Case &one : cases) {
    LrScheduleConfig options = one.options;
    one.change(options);
    EXPECT_THAT(message(LrSchedule::create(options)), HasSubstr(one.message));
  }
}

} // namespace
