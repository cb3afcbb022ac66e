//===- ReductionPlanTest.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/ReductionPlan.h"
#include "gtest/gtest.h"

using namespace mf::passes;

namespace {

ReducedParameter make(int64_t summands, bool isShared = false) {
  ReducedParameter parameter;
  parameter.name = "w";
  parameter.summands = summands;
  parameter.isShared = isShared;
  return parameter;
}

std::vector<ReductionPlace> plan(int64_t runs,
                                 const ReducedParameter &parameter) {
  return planReductions(runs, parameter);
}

using Places = std::vector<ReductionPlace>;

} // namespace

TEST(ReductionPlanTest, LeavesWhatEachRankHasWhole) {
  EXPECT_EQ(plan(1, make(1)), Places{ReductionPlace::Nowhere});
  EXPECT_EQ(plan(4, make(1)), Places{ReductionPlace::Nowhere});
}

TEST(ReductionPlanTest, SumsInBackwardWhereThatRunsOnce) {
  EXPECT_EQ(plan(1, make(2)), Places{ReductionPlace::Backward});
  EXPECT_EQ(plan(1, make(1, /*isShared=*/true)),
            Places{ReductionPlace::Backward});
  EXPECT_EQ(plan(2, make(2)), Places{ReductionPlace::Step});
}

TEST(ReductionPlanTest, LeavesToTheStepWhatItsBeginPutsTogether) {
  ReducedParameter parameter = make(2, /*isShared=*/true);
  parameter.isGatheredOnce = true;
  EXPECT_EQ(plan(1, parameter), Places{ReductionPlace::Step});
  parameter.scattersGradients = true;
  EXPECT_EQ(plan(1, parameter), Places{ReductionPlace::MicroBatch});
}

TEST(ReductionPlanTest, PrintsAPlacePerParameter) {
  std::vector<ReducedParameter> parameters = {make(1), make(8)};
  std::string text;
  llvm::raw_string_ostream os(text);
  printReductions(parameters, planReductions(1, parameters), os);
  EXPECT_EQ(text, "w: gradient of 1 rank summed nowhere\n"
                  "w: gradient of 8 ranks summed in backward\n");
}
