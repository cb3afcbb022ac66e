//===- SolverTest.cpp - Published problems and their optima ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/Solver.h"
#include "PlanTesting.h"
#include "mf/Pipeline/Policy.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace mf;
using namespace mf::solver;

namespace {

/// A published problem of MindSpore's fast-tuner: dense layers first, all
/// layers kept or fully recomputed. Times are multiples of the forward of an
/// expert layer, memory is in MB.
struct TunerCase {
  int64_t stages, chunksPerStage, microBatches;
  /// Time of a dense layer, relative to an expert layer.
  double denseForward;
  double backwardRatio, head;
  /// Time to recompute an expert layer; dense layers take their whole forward.
  double recompute;
  double keptDense, keptExpert, recomputedDense, recomputedExpert;
  double denseParameters, expertParameters;
  double firstLimit, middleLimit, lastLimit;
};

schedule::Schedule buildSchedule(llvm::StringRef policy, int64_t stages,
                                 int64_t chunksPerStage, int64_t microBatches) {
  const schedule::Policy *found = llvm::cantFail(schedule::findPolicy(policy));
  return llvm::cantFail(schedule::buildSchedule(
      *found, found->place(stages, chunksPerStage, microBatches)));
}

// Source: hyper-parallel, fast-tuner, unit_tests/pipeline_alg_test.py, and the
// YAMLs of toolkits, branch tool_0625.
const TunerCase tunerT1 = {16,  1,  64, .397, 1.839, 1.5,   1,     479,
                           765, 30, 30, 866,  10691, 51913, 52914, 46621};
const TunerCase tunerT2 = {6,   1,  120, .71,  1.627, 1.493, .246,  494,
                           673, 46, 158, 1010, 2644,  53101, 55065, 48876};
const TunerCase tunerT4 = {8,    2,  240, .71,  1.627, 1.493, .246,  988,
                           1346, 92, 316, 1109, 3670,  49678, 52629, 42891};
const TunerCase tunerT6 = {8,    4,  240, .71,  1.627, 1.493, .246,  988,
                           1346, 92, 316, 1109, 3670,  49858, 52632, 42894};

Problem makeTunerProblem(const TunerCase &tuner) {
  Problem problem;
  problem.schedule =
      buildSchedule(tuner.chunksPerStage > 1 ? "interleaved" : "1f1b",
                    tuner.stages, tuner.chunksPerStage, tuner.microBatches);
  auto makeKind = [&](llvm::StringRef name, int64_t count, double forward,
                      double recompute, double parameters, double kept,
                      double recomputed) {
    LayerKind kind;
    kind.name = name.str();
    kind.count = count;
    kind.parameterMemory = parameters;
    double backward = tuner.backwardRatio * forward;
    Treatment keep, full;
    keep.name = "none";
    keep.forward = full.forward = forward;
    keep.backward = backward;
    keep.activationMemory = kept;
    full.name = "full";
    full.backward = backward + recompute;
    full.activationMemory = recomputed;
    kind.treatments = {keep, full};
    return kind;
  };
  problem.kinds = {
      makeKind("dense", 3, tuner.denseForward, tuner.denseForward,
               tuner.denseParameters, tuner.keptDense, tuner.recomputedDense),
      makeKind("expert", 59, 1, tuner.recompute, tuner.expertParameters,
               tuner.keptExpert, tuner.recomputedExpert)};
  ChunkExtra head;
  head.chunk = tuner.stages * tuner.chunksPerStage - 1;
  head.forward = tuner.head;
  head.backward = tuner.backwardRatio * tuner.head;
  problem.extras = {head};
  problem.stages.assign(tuner.stages, {tuner.middleLimit, 0});
  problem.stages.front().limit = tuner.firstLimit;
  problem.stages.back().limit = tuner.lastLimit;
  return problem;
}

SolveResult solveOrFail(const Problem &problem,
                        const SolveOptions &options = {}) {
  // Takes a second, but other tests may run beside it.
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

TEST(SolverTest, ProvesTheOptimumOf4ChunksPerStage) {
  expectOptimum(tunerT6, 5567.3332);
}

TEST(SolverTest, NothingBeatsACutoffAtTheOptimum) {
  SolveOptions options;
  options.cutoff = 1132.6622;
  SolveResult result = solveOrFail(makeTunerProblem(tunerT1), options);
  EXPECT_TRUE(result.isProven);
  EXPECT_FALSE(result.plan.has_value());
  options.cutoff = 1132.67;
  result = solveOrFail(makeTunerProblem(tunerT1), options);
  EXPECT_TRUE(result.plan.has_value());
}

TEST(SolverTest, TheSamePlanEachTime) {
  Problem problem = makeTunerProblem(tunerT4);
  EXPECT_EQ(solveOrFail(problem).plan, solveOrFail(problem).plan);
}

TEST(SolverTest, EndsAfterCandidatesWithTheSamePlanEachTime) {
  Problem problem = makeTunerProblem(tunerT4);
  const SolveResult whole = solveOrFail(problem);
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

// Experts' parameters alone take more than there is.
TEST(SolverTest, NamesTheStageThatMissesMost) {
  Problem problem = makeTunerProblem(tunerT2);
  problem.stages[3].limit = 2000;
  llvm::Expected<SolveResult> result = solve(problem);
  ASSERT_FALSE(static_cast<bool>(result));
  std::string message = toString(result.takeError());
  EXPECT_NE(message.find("misses most on stage 3, which needs"),
            std::string::npos)
      << message;
}

TEST(SolverTest, RefusalsMissMemoryOrSaveNothing) {
  Problem problem = makeTunerProblem(tunerT1);
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
  Problem problem = makeTunerProblem(tunerT2);
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

TEST(SolverTest, TakesWhatFitsIfNothingTakesTime) {
  Problem problem = makeSmallProblem();
  for (LayerKind &kind : problem.kinds) {
    kind.updateTime = 0;
    for (Treatment &treatment : kind.treatments)
      treatment.forward = treatment.backward = treatment.weightGradient = 0;
  }
  for (ChunkExtra &extra : problem.extras)
    extra.forward = extra.backward = extra.weightGradient = extra.updateTime =
        0;
  problem.transferTime = 0;
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

TEST(SolverTest, PeaksNeedNoSchedule) {
  const Problem problem = makeSmallProblem();
  const Plan plan = makeSmallPlan();
  EXPECT_EQ(evaluatePeaks(problem, plan), evaluate(problem, plan).peaks);
}

} // namespace
