//===- SolverTest.cpp - Options and ends of a search ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/Solver.h"
#include "PlanTesting.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace mf;
using namespace mf::solver;

namespace {

SolveResult solveOrFail(const Problem &problem,
                        const SolveOptions &options = {}) {
  // Takes a second, but other tests may run beside it.
  llvm::Expected<SolveResult> result = solve(problem, options);
  if (result)
    return std::move(*result);
  ADD_FAILURE() << toString(result.takeError());
  return {};
}

TEST(SolverTest, NothingBeatsACutoffAtTheOptimum) {
  SolveOptions options;
  options.cutoff = 1132.6622;
  const Problem problem = readPublished("fast-tuner-t1.json");
  SolveResult result = solveOrFail(problem, options);
  EXPECT_TRUE(result.isProven);
  EXPECT_FALSE(result.plan.has_value());
  options.cutoff = 1132.67;
  result = solveOrFail(problem, options);
  EXPECT_TRUE(result.plan.has_value());
}

TEST(SolverTest, EndsAfterCandidatesWithTheSamePlanEachTime) {
  Problem problem = readPublished("fast-tuner-t4.json");
  const SolveResult whole = solveOrFail(problem);
  EXPECT_EQ(whole.plan, solveOrFail(problem).plan);
  SolveOptions options;
  options.mostCandidates = 1;
  const SolveResult part = solveOrFail(problem, options);
  ASSERT_TRUE(part.plan.has_value());
  EXPECT_FALSE(part.isProven);
  EXPECT_LT(part.nodes, whole.nodes);
  EXPECT_LE(part.bound, whole.time);
  EXPECT_GE(part.time, whole.time);
  EXPECT_EQ(part.plan, solveOrFail(problem, options).plan);
}

TEST(SolverTest, RefusalsMissMemoryOrSaveNothing) {
  Problem problem = readPublished("fast-tuner-t1.json");
  SolveResult result = solveOrFail(problem);
  ASSERT_TRUE(result.plan.has_value());
  std::vector<Refusal> refusals = explain(problem, *result.plan);
  EXPECT_FALSE(refusals.empty());
  for (const Refusal &refusal : refusals) {
    EXPECT_GT(refusal.saved, 0);
    if (refusal.missingMemory == 0)
      EXPECT_GE(refusal.time, result.time);
  }
}

TEST(SolverTest, MoreMemoryNeverTakesLonger) {
  Problem problem = readPublished("fast-tuner-t2.json");
  const std::array<double, 4> limits = {30000, 50000, 55065, 70000};
  llvm::Expected<std::vector<FrontierPoint>> points =
      solveFrontier(problem, limits);
  ASSERT_TRUE(static_cast<bool>(points)) << toString(points.takeError());
  double before = std::numeric_limits<double>::infinity();
  for (const FrontierPoint &point : *points) {
    if (!point.result)
      continue;
    EXPECT_LE(point.result->time, before);
    EXPECT_GE(point.tightestStage, 0);
    before = point.result->time;
  }
  EXPECT_NEAR((*points)[2].result->time, 3603.3977, 5e-5);
}

// The plan that the source of T1's optimum names.
TEST(SolverTest, ThePublishedPlanIsOptimal) {
  Problem problem = readPublished("fast-tuner-t1.json");
  // By stage. The first one recomputes the three dense layers as well.
  const int64_t experts[] = {3, 4, 4, 3, 3, 4, 4, 3, 4, 4, 4, 4, 4, 4, 4, 3};
  const int64_t recomputed[] = {2, 4, 4, 1, 1, 3, 3, 0, 3, 3, 2, 2, 1, 0, 0, 0};
  Plan plan;
  for (auto [count, again] : llvm::zip_equal(experts, recomputed))
    plan.chunks.push_back({{{0, 0}, {count - again, again}}});
  plan.chunks.front().counts[0] = {0, 3};
  EXPECT_EQ(getMessage(plan.verify(problem)), "");
  EXPECT_NEAR(evaluate(problem, plan).time, 1132.6622, 5e-5);
}

TEST(SolverTest, TakesWhatFitsIfNothingTakesTime) {
  Problem problem = makeSmallProblem();
  for (LayerKind &kind : problem.kinds)
    for (Treatment &treatment : kind.treatments)
      treatment.forward = treatment.backward = 0;
  const SolveResult result = solveOrFail(problem);
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(getMessage(result.plan->verify(problem)), "");
  EXPECT_TRUE(result.isProven);
  EXPECT_EQ(result.time, 0);
}

// The limit may be the same sum in another order.
TEST(SolverTest, ASumMayExceedItsLimitByRounding) {
  Problem problem = makeSmallProblem();
  const SolveResult before = solveOrFail(problem);
  ASSERT_TRUE(before.plan.has_value());
  for (auto [stage, peak] :
       llvm::zip_equal(problem.stages, evaluatePeaks(problem, *before.plan)))
    stage.limit = std::nextafter(peak, 0);
  const SolveResult result = solveOrFail(problem);
  EXPECT_EQ(result.time, before.time);
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(getMessage(result.plan->verify(problem)), "");
}

} // namespace
