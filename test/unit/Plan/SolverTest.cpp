//===- SolverTest.cpp - Published problems and their optima ---------------===//

#include "PlanTesting.h"
#include "SolverTesting.h"
#include <gtest/gtest.h>

using namespace mf::plan;

namespace {

SolveResult solveOrFail(const Problem &problem,
                        const SolveOptions &options = {}) {
  llvm::Expected<SolveResult> result = solve(problem, options);
  if (result)
    return std::move(*result);
  ADD_FAILURE() << toString(result.takeError());
  return {};
}

/// The value of the published table, to its digits, proven.
void expectOptimum(const TunerCase &tuner, double time) {
  Problem problem = makeTunerProblem(tuner);
  SolveResult result = solveOrFail(problem);
  EXPECT_TRUE(result.isProven);
  EXPECT_NEAR(result.time, time, 5e-5);
  EXPECT_EQ(result.bound, result.time);
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(getMessage(result.plan->verify(problem)), "");
  EXPECT_EQ(evaluate(problem, *result.plan).time, result.time);
}

TEST(SolverTest, ProvesTheOptimumOf16Stages) {
  expectOptimum(tunerT1, 1132.6622);
}

TEST(SolverTest, ProvesTheOptimumOf6Stages) {
  expectOptimum(tunerT2, 3603.3977);
}

TEST(SolverTest, ProvesTheOptimumOf2ChunksPerStage) {
  expectOptimum(tunerT4, 5661.5587);
}

/// Numbers of layers, and how many of the dense and the expert layers are
/// recomputed.
Plan makePlan(llvm::ArrayRef<std::array<int64_t, 4>> chunks) {
  Plan plan;
  for (auto [dense, experts, denseAgain, expertsAgain] : chunks)
    plan.chunks.push_back({{{dense - denseAgain, denseAgain},
                            {experts - expertsAgain, expertsAgain}}});
  return plan;
}

// The plan that the source of T1's optimum names.
TEST(SolverTest, ThePublishedPlanIsOptimal) {
  Problem problem = makeTunerProblem(tunerT1);
  Plan plan = makePlan({{{3, 3, 3, 2}},
                        {{0, 4, 0, 4}},
                        {{0, 4, 0, 4}},
                        {{0, 3, 0, 1}},
                        {{0, 3, 0, 1}},
                        {{0, 4, 0, 3}},
                        {{0, 4, 0, 3}},
                        {{0, 3, 0, 0}},
                        {{0, 4, 0, 3}},
                        {{0, 4, 0, 3}},
                        {{0, 4, 0, 2}},
                        {{0, 4, 0, 2}},
                        {{0, 4, 0, 1}},
                        {{0, 4, 0, 0}},
                        {{0, 4, 0, 0}},
                        {{0, 3, 0, 0}}});
  EXPECT_EQ(getMessage(plan.verify(problem)), "");
  EXPECT_NEAR(evaluate(problem, plan).time, 1132.6622, 5e-5);
}

} // namespace
