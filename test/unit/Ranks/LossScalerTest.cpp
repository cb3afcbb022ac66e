//===- LossScalerTest.cpp - The loss scale over the steps -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/LossScaler.h"
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::ranks;

namespace {

program::LossScale makeRule(float value, int64_t factor, int64_t window) {
  program::LossScale rule;
  rule.value = value;
  rule.factor = factor;
  rule.window = window;
  return rule;
}

/// The scale of each step and of the one behind them: 'o' is an overflow.
std::vector<float> getScales(LossScaler &scaler, const char *steps) {
  std::vector<float> scales = {scaler.getScale()};
  for (; *steps; ++steps) {
    scaler.update(*steps == 'o');
    scales.push_back(scaler.getScale());
  }
  return scales;
}

using Scales = std::vector<float>;

TEST(LossScalerTest, AFixedScaleStays) {
  LossScaler scaler(makeRule(1024, 0, 0));
  EXPECT_EQ(getScales(scaler, "o.o"), Scales({1024, 1024, 1024, 1024}));
  scaler.restore(2, 1);
  EXPECT_EQ(scaler.getScale(), 1024);
}

TEST(LossScalerTest, AnOverflowDividesAndCleanStepsMultiply) {
  LossScaler scaler(makeRule(64, 4, 2));
  EXPECT_EQ(getScales(scaler, "oo..."), Scales({64, 16, 4, 4, 16, 16}));
  EXPECT_EQ(scaler.getCleanSteps(), 1);
}

TEST(LossScalerTest, AnOverflowStartsTheWindowAgain) {
  LossScaler scaler(makeRule(64, 2, 3));
  EXPECT_EQ(getScales(scaler, "..o..."), Scales({64, 64, 64, 32, 32, 32, 64}));
}

TEST(LossScalerTest, AWindowOfOneStepMultipliesEachTime) {
  LossScaler scaler(makeRule(1, 2, 1));
  EXPECT_EQ(getScales(scaler, "..o."), Scales({1, 2, 4, 2, 4}));
}

TEST(LossScalerTest, StaysBetweenOneAndWhatFp32Holds) {
  LossScaler low(makeRule(3, 2, 9));
  EXPECT_EQ(getScales(low, "ooo"), Scales({3, 1.5, 1, 1}));
  LossScaler high(makeRule(0x1p126F, 2, 1));
  EXPECT_EQ(getScales(high, "..."),
            Scales({0x1p126F, 0x1p127F, 0x1p127F, 0x1p127F}));
}

TEST(LossScalerTest, GoesOnWhereItWas) {
  LossScaler whole(makeRule(64, 2, 3)), resumed(makeRule(64, 2, 3));
  getScales(whole, "o..");
  resumed.restore(whole.getScale(), whole.getCleanSteps());
  EXPECT_EQ(getScales(whole, ".o..."), getScales(resumed, ".o..."));
}

} // namespace
