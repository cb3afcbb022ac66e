//===- ScalePlanTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/ScalePlan.h"
#include "gtest/gtest.h"

using namespace mf::passes;

namespace {

using Kind = GradientUser::Kind;
using Indices = std::vector<size_t>;

const GradientUser scale{"scale", Kind::Scales, {"a", "b"}};
const GradientUser norms{"norms", Kind::Reads, {"a", "b"}};
const GradientUser updateA{"update", Kind::Reads, {"a"}};
const GradientUser updateB{"update", Kind::Reads, {"b"}};
const GradientUser rewriteA{"rewrite", Kind::Other, {"a"}};
const GradientUser report{"report", Kind::Other, {}};

std::string print(llvm::ArrayRef<GradientUser> users) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printScales(users, planScales(users), os);
  return text;
}

} // namespace

TEST(ScalePlanTest, AllThatReadBehindItTakeTheFactor) {
  // Reports use no gradient, and the norm in front reads what is not scaled.
  const std::vector<GradientUser> users = {norms, scale, report, updateA,
                                           updateB};
  std::vector<ScaleDecision> decisions = planScales(users);
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].scale, 1U);
  EXPECT_EQ(decisions[0].obstacle, std::nullopt);
  EXPECT_EQ(decisions[0].readers, (Indices{3, 4}));
  EXPECT_EQ(print(users),
            "scale of 2 gradients: in 2 operators that read them\n");
}

TEST(ScalePlanTest, TheLastOfTwoComesFirst) {
  const std::vector<GradientUser> users = {scale, norms, scale, updateA,
                                           updateB};
  std::vector<ScaleDecision> decisions = planScales(users);
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].scale, 2U);
  EXPECT_EQ(decisions[0].readers, (Indices{3, 4}));
  EXPECT_EQ(decisions[1].scale, 0U);
  EXPECT_EQ(decisions[1].readers, (Indices{1, 3, 4}));
}

TEST(ScalePlanTest, WhatNeedsTheProductInMemoryKeepsIt) {
  const std::vector<GradientUser> users = {scale, updateB, rewriteA, updateA};
  std::vector<ScaleDecision> decisions = planScales(users);
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].obstacle, 2U);
  EXPECT_TRUE(decisions[0].readers.empty());
  EXPECT_EQ(print(users), "scale of 2 gradients: in place, for rewrite\n");
}

TEST(ScalePlanTest, AScaleThatStaysKeepsThoseInFrontOfIt) {
  // Otherwise the factors would come in another order, and round differently.
  std::vector<ScaleDecision> decisions =
      planScales({scale, norms, scale, rewriteA, updateA});
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].obstacle, 3U);
  EXPECT_EQ(decisions[1].obstacle, 2U);
}

TEST(ScalePlanTest, AReaderOfMoreThanIsScaledKeepsIt) {
  const GradientUser scaleA{"scale", Kind::Scales, {"a"}};
  EXPECT_EQ(planScales({scaleA, norms})[0].obstacle, 1U);
  EXPECT_EQ(planScales({scaleA, updateA, updateB})[0].readers, Indices{1});
}
