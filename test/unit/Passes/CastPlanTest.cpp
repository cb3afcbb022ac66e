//===- CastPlanTest.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/cast/CastPlan.h"
#include "gtest/gtest.h"

using namespace mf::passes;

namespace {

using Indices = std::vector<size_t>;

ConvertedParameter make(std::string name, int64_t casts, int64_t bytesKept) {
  return {std::move(name), casts, 3 * bytesKept, bytesKept};
}

const std::vector<ConvertedParameter> parameters = {
    make("seldom", 2, 100), make("often", 9, 100), make("large", 8, 1000),
    make("once", 1, 10), make("small", 5, 20)};

} // namespace

TEST(CastPlanTest, WithoutALimitAllThatAreConvertedAgainGetACopy) {
  CastPlan plan = planCasts(parameters, std::nullopt);
  EXPECT_EQ(plan.copied, (Indices{0, 1, 2, 4}));
  EXPECT_EQ(plan.castsSaved, 1 + 8 + 7 + 4);
  EXPECT_EQ(plan.bytesKept, 1220);
  EXPECT_EQ(plan.bytesSaved, 3 * (100 + 8 * 100 + 7 * 1000 + 4 * 20));
  EXPECT_EQ(plan.withoutRoom, 0);
}

TEST(CastPlanTest, WhatSavesMostPerByteComesFirst) {
  EXPECT_EQ(planCasts(parameters, 100).copied, Indices{1});
  EXPECT_EQ(planCasts(parameters, 1100).copied, (Indices{1, 2}));
  EXPECT_EQ(planCasts(parameters, 1120).copied, (Indices{1, 2, 4}));
}

TEST(CastPlanTest, WhatHasNoRoomLeavesItToTheNext) {
  // The large one comes second, and does not fit.
  CastPlan plan = planCasts(parameters, 120);
  EXPECT_EQ(plan.copied, (Indices{1, 4}));
  EXPECT_EQ(plan.bytesKept, 120);
  EXPECT_EQ(plan.withoutRoom, 2);
}

TEST(CastPlanTest, OfEqualsTheFirstComesFirst) {
  EXPECT_EQ(
      planCasts({make("a", 4, 10), make("b", 4, 20), make("c", 4, 10)}, 20)
          .copied,
      (Indices{0, 2}));
}

TEST(CastPlanTest, NoRoomIsNoCopy) {
  CastPlan plan = planCasts(parameters, 0);
  EXPECT_TRUE(plan.copied.empty());
  EXPECT_EQ(plan.withoutRoom, 4);
}

TEST(CastPlanTest, APlanIsPrinted) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printCasts(parameters, planCasts(parameters, 120), os);
  EXPECT_EQ(text, "seldom: 2 conversions, no room for a copy of 100 bytes\n"
                  "often: 9 conversions, once with a copy of 100 bytes\n"
                  "large: 8 conversions, no room for a copy of 1000 bytes\n"
                  "once: 1 conversion\n"
                  "small: 5 conversions, once with a copy of 20 bytes\n");
}
