//===- FrontierPrintTest.cpp - Tests of printed and drawn frontiers -------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/Policy.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf::solver;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Six layers on two stages that are kept or recomputed.
Problem makeProblem() {
  Problem problem;
  problem.name = "six";
  const auto &policy = **mf::schedule::findPolicy("1f1b");
  problem.schedule =
      llvm::cantFail(buildSchedule(policy, policy.place(2, 1, 4)));
  LayerKind kind;
  kind.name = "layer";
  kind.count = 6;
  kind.parameterMemory = 5;
  Treatment keep;
  keep.name = "keep";
  keep.forward = 1, keep.backward = 2, keep.activationMemory = 10;
  Treatment full = keep;
  full.name = "full <all>";
  full.backward = 3, full.activationMemory = 1;
  kind.treatments = {keep, full};
  problem.kinds = {kind};
  problem.stages = {{60, 0}, {60, 0}};
  return problem;
}

FrontierPoint makePoint(double limit, int64_t recomputed, double time,
                        double bound) {
  FrontierPoint point;
  point.limit = limit;
  SolveResult result;
  result.plan =
      Plan{{ChunkPlan{{{3 - recomputed, recomputed}}}, ChunkPlan{{{3, 0}}}}};
  result.time = time, result.bound = bound;
  result.isProven = time == bound;
  point.result = result;
  point.tightestStage = 0;
  return point;
}

FrontierPoint makeEmptyPoint(double limit) {
  FrontierPoint point;
  point.limit = limit;
  return point;
}

std::string print(llvm::ArrayRef<FrontierPoint> points,
                  const PlanUnits &units = {}) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printFrontier(makeProblem(), points, units, os);
  return text;
}

std::string plot(llvm::ArrayRef<FrontierPoint> points) {
  std::string text;
  llvm::raw_string_ostream os(text);
  plotFrontier(points, {}, os);
  return text;
}

size_t count(llvm::StringRef text, llvm::StringRef part) {
  return text.count(part);
}

TEST(FrontierPrintTest, ShowsUnitsWhereTheyAreKnown) {
  const PlanUnits units{"ms", "GiB", 1000, 0.5};
  const std::string text = print({makePoint(50, 2, 48, 46)}, units);
  EXPECT_THAT(text, HasSubstr("limit, GiB  step, ms     gap"));
  EXPECT_THAT(text, HasSubstr("25             48000  4.17 %"));
}

TEST(FrontierPrintTest, PlotsStepsDownwards) {
  EXPECT_EQ(plot({makePoint(40, 2, 50, 50), makePoint(60, 1, 40, 40)}),
            "step\n"
            "50 +*----------------------------------------------------------\n"
            "   |\n"
            "   |\n"
            "   |\n"
            "   |\n"
            "   |\n"
            "45 +\n"
            "   |\n"
            "   |\n"
            "   |\n"
            "   |\n"
            "40 +                                                           *\n"
            "   +------------------------------------------------------------\n"
            "    40             45             50            55            60  "
            "limit\n");
}

TEST(FrontierPrintTest, PlotsNothingOfOnePoint) {
  EXPECT_EQ(plot({makeEmptyPoint(10), makePoint(60, 1, 46, 46)}), "");
}

TEST(FrontierPrintTest, DrawsAPointForEachPlanAndABarForEachTreatment) {
  const std::string svg = drawFrontier(
      makeProblem(), {makePoint(40, 2, 50, 50), makePoint(60, 0, 40, 40)}, {});
  EXPECT_EQ(count(svg, "<circle"), 2U);
  EXPECT_EQ(count(svg, " layers keep</title>"), 2U);
  EXPECT_EQ(count(svg, " layers full &lt;all&gt;</title>"), 1U);
  EXPECT_THAT(svg, Not(HasSubstr("dash")));
  EXPECT_THAT(svg, Not(HasSubstr("no plan")));
}

TEST(FrontierPrintTest, DrawsBoundsOfWhatIsNotProvenAndWhereNothingFits) {
  const std::string svg = drawFrontier(
      makeProblem(),
      {makeEmptyPoint(20), makePoint(40, 2, 50, 45), makePoint(60, 0, 40, 40)},
      {});
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(svg, HasSubstr(">no plan<"));
  EXPECT_EQ(count(svg, "<circle"), 2U);
}

TEST(FrontierPrintTest, DrawsAFrontierWithoutPlans) {
  const std::string svg =
      drawFrontier(makeProblem(), {makeEmptyPoint(20), makeEmptyPoint(30)}, {});
  EXPECT_THAT(svg, HasSubstr(">no plan<"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

} // namespace
