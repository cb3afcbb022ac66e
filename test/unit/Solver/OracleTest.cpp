//===- OracleTest.cpp - The solver against all plans ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The result of solve() for random problems equals that of trying all plans,
// with the simulator of pipelines for the time and Plan::verify() for the
// rules. MF_SEED and MF_COUNT draw others, and more.
//
//===----------------------------------------------------------------------===//

#include "Enumeration.h"
#include "PlanTesting.h"
#include "RandomProblems.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "test/unit/Campaign.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::solver;

namespace {

constexpr uint64_t usualProblems = 1000;
constexpr int64_t mostPlans = 20000;

std::string describe(uint64_t seed, const Problem &problem) {
  return llvm::formatv("seed {0}\n{1:2}", seed, writeProblem(problem));
}

void expectLeast(const Problem &problem, const SolveResult &result,
                 double least) {
  // The solver counts in ticks, to which every duration is rounded: with slots,
  // to a hundred of them.
  const double tolerance =
      (problem.schedule.pairs.empty() ? 1e-8 : 1e-7) * least;
  EXPECT_TRUE(result.isProven);
  EXPECT_NEAR(result.time, least, tolerance);
  EXPECT_NEAR(result.bound, least, tolerance);
  EXPECT_LE(getLeastTime(problem), least + tolerance);
  EXPECT_GT(getLeastTime(problem), 0);
  for (const double cutoff : {0.0, 0.9 * least, 1.1 * least}) {
    llvm::Expected<double> bound = findBound(problem, cutoff);
    ASSERT_TRUE(static_cast<bool>(bound)) << toString(bound.takeError());
    EXPECT_LE(*bound, least + tolerance);
    EXPECT_GE(*bound, std::min(getLeastTime(problem), 0.9 * least));
  }
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(getMessage(result.plan->verify(problem)), "");
  EXPECT_NEAR(simulateStep(problem, *result.plan), least, tolerance);
  EXPECT_NEAR(evaluate(problem, *result.plan).time, least, tolerance);
}

/// Nothing if there is no plan.
std::optional<Plan> expectSameAsEnumeration(const Problem &problem) {
  EXPECT_EQ(getMessage(problem.check()), "");
  const std::optional<double> least = findLeastTime(problem);
  llvm::Expected<SolveResult> result = solve(problem);
  if (!result) {
    const std::string message = toString(result.takeError());
    EXPECT_FALSE(least.has_value()) << message;
    EXPECT_NE(message, "");
    return std::nullopt;
  }
  EXPECT_TRUE(least.has_value());
  if (!least)
    return std::nullopt;
  expectLeast(problem, *result, *least);
  return result->plan;
}

TEST(OracleTest, WeightGradientsHaveTheirOwnShares) {
  Problem problem = makeSmallProblem();
  problem.schedule = makeSchedule("zero-bubble-h1", 2, 1, 1);
  problem.kinds[0].treatments[0].weightGradient = 1;
  const Plan plan = {{{{{1, 0}, {0, 0}}}, {{{0, 0}, {3, 0}}}}};
  // The second stage's backward has no weight gradient that may wait.
  EXPECT_EQ(simulateStep(problem, plan), 1 + 6 + 12 + 2);
  EXPECT_EQ(evaluate(problem, plan).time, 1 + 6 + 12 + 2);
}

TEST(OracleTest, SolutionsAreThoseOfTryingAllPlans) {
  const uint64_t firstSeed = getCampaignSeed(0);
  const uint64_t numProblems = getCampaignCount(usualProblems);
  int64_t solved = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numProblems; ++seed) {
    Problem problem = drawProblem(seed, mostPlans);
    SCOPED_TRACE(describe(seed, problem));
    std::optional<Plan> plan = expectSameAsEnumeration(problem);
    solved += plan.has_value();
    if (HasFailure())
      return;
    if (!plan || seed % 5 != 0)
      continue;
    // The best chunks of a stage are forbidden, as where a planner of memory
    // refuses them.
    const auto chunks = problem.schedule.pipeline.getChunksOfStages();
    ForbiddenStage forbidden;
    forbidden.stage = static_cast<int64_t>(seed / 5 % chunks.size());
    for (int32_t chunk : chunks[forbidden.stage])
      forbidden.chunks.push_back(plan->chunks[chunk]);
    problem.forbidden.push_back(forbidden);
    expectSameAsEnumeration(problem);
    if (HasFailure())
      return;
  }
  // Both kinds are there, unless these are too few to tell.
  if (numProblems < 100)
    return;
  EXPECT_GT(solved, static_cast<int64_t>(numProblems / 2));
  EXPECT_LT(solved, static_cast<int64_t>(numProblems * 9 / 10));
}

} // namespace
