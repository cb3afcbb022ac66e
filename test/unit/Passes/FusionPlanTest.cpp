//===- FusionPlanTest.cpp - Chooses operators to fuse ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/FusionPlan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::passes;

namespace {

FusionSite getSite(const char *layer) {
  FusionSite site;
  site.layer = layer;
  site.name = "feed_forward.swiglu";
  site.kernelsBefore = 4;
  site.kernelsAfter = 1;
  site.keptBefore = 300;
  site.keptAfter = 200;
  return site;
}

std::string print(const FusionPlan &plan) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  plan.print("mf.swiglu", stream);
  return text;
}

TEST(FusionPlanTest, FusesWhatIsAskedFor) {
  FusionPlan plan =
      planFusion({getSite("layers.0"), getSite("layers.1")}, true);
  EXPECT_EQ(plan.getNumFused(), 2);
  EXPECT_EQ(plan.getKernelsSaved(), 6);
  EXPECT_EQ(plan.getBytesSaved(), 200);
  plan = planFusion({getSite("layers.0")}, false);
  EXPECT_EQ(plan.getNumFused(), 0);
  EXPECT_EQ(plan.getKernelsSaved(), 0);
  EXPECT_EQ(plan.getBytesSaved(), 0);
  EXPECT_EQ(planFusion({}, true).getNumFused(), 0);
}

TEST(FusionPlanTest, SomeAreAlwaysOrNeverFused) {
  FusionSite always = getSite("layers.0"), never = getSite("layers.1");
  always.isAlways = true;
  never.isNever = true;
  FusionPlan off = planFusion({always, never}, false);
  EXPECT_TRUE(off.sites[0].isFused);
  EXPECT_FALSE(off.sites[1].isFused);
  FusionPlan on = planFusion({always, never, getSite("layers.2")}, true);
  EXPECT_TRUE(on.sites[0].isFused);
  EXPECT_FALSE(on.sites[1].isFused);
  EXPECT_TRUE(on.sites[2].isFused);
}

TEST(FusionPlanTest, PrintsWhatStaysAndWhy) {
  FusionSite never = getSite("layers.1");
  never.isNever = true;
  EXPECT_EQ(
      print(planFusion({getSite("layers.0"), never}, true)),
      "mf.swiglu: 1 of 2\n"
      "  layers.0 feed_forward.swiglu: 1 in place of 4 kernels, keeps 200 "
      "in place of 300 bytes\n"
      "  layers.1 feed_forward.swiglu: stays, a dense layer beside layers "
      "with experts\n");
  EXPECT_EQ(print(planFusion({getSite("layers.0")}, false)),
            "mf.swiglu: 0 of 1\n"
            "  layers.0 feed_forward.swiglu: stays\n");
}

} // namespace
