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
#include "mf/Pipeline/Policy.h"
#include "mf/Plan/Solver/Problem.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "test/unit/Campaign.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mf;
using namespace mf::solver;

namespace {

class ProblemDrawer {
public:
  /// More stages have fewer small problems, and would seldom be drawn.
  explicit ProblemDrawer(uint64_t seed)
      : random(seed), stages(seed % 11 / 2 + 1) {}

  Problem draw() {
    Problem problem;
    problem.name = "drawn";
    drawSchedule(problem);
    // Sums of eighths are exact.
    isExact = drawNumber(0, 4) != 0;
    mostWeightGradient = drawNumber(0, 2) * 0.5;
    problem.minLayersPerChunk = drawNumber(0, 2) != 0;
    drawLayers(problem);
    drawExtras(problem);
    drawTransfers(problem);
    drawRules(problem);
    drawMemory(problem);
    return problem;
  }

private:
  /// From `least` to `most`.
  int64_t drawNumber(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % (most - least + 1));
  }
  bool happens(int64_t percent) { return drawNumber(1, 100) <= percent; }
  double drawTime(double least, double most) {
    const auto steps = static_cast<int64_t>((most - least) * 8);
    if (isExact)
      return least + static_cast<double>(drawNumber(0, steps)) / 8;
    return least +
           (most - least) * static_cast<double>(drawNumber(0, 999)) / 999;
  }

  double drawBackwardRatio() { return 1 + drawTime(0, 2); }
  /// The weight gradient of a forward.
  double drawWeightGradient(double forward) {
    const bool isMost = happens(50);
    return forward *
           (isMost ? mostWeightGradient : drawTime(0, mostWeightGradient));
  }

  void drawSchedule(Problem &problem);
  void drawLayers(Problem &problem);
  LayerKind drawKind(llvm::ArrayRef<std::string> names);
  Treatment drawTreatment(const std::string &name, const Treatment &none);
  void drawExtras(Problem &problem);
  void drawTransfers(Problem &problem);
  void drawRules(Problem &problem);
  void drawFollowers(Problem &problem);
  void drawGivenTables(Problem &problem);
  void drawMemory(Problem &problem);

  std::mt19937_64 random;
  int64_t stages = 1;
  bool isExact = true;
  /// The largest ratio of a weight gradient to the forward.
  double mostWeightGradient = 0;
};

void ProblemDrawer::drawSchedule(Problem &problem) {
  const llvm::ArrayRef<const schedule::Policy *> policies =
      schedule::getPolicies();
  for (;;) {
    const schedule::Policy *policy =
        policies[drawNumber(0, static_cast<int64_t>(policies.size()) - 1)];
    const int64_t pieces = policy->takesPieces() ? drawNumber(1, 2) : 1;
    schedule::Pipeline pipeline = policy->place(
        stages, drawNumber(1, 3), drawNumber(1, 2 * stages + 2), pieces);
    if (policy->separatesRecompute() || happens(25))
      policy->chooseRecompute(pipeline);
    auto built = buildSchedule(*policy, pipeline);
    if (built) {
      problem.schedule = std::move(*built);
      if (!problem.schedule.pairs.empty())
        problem.pairHidden = static_cast<double>(drawNumber(0, 4)) / 4;
      return;
    }
    consumeError(built.takeError());
  }
}

Treatment ProblemDrawer::drawTreatment(const std::string &name,
                                       const Treatment &none) {
  Treatment treatment = none;
  treatment.name = name;
  if (name == "swap") {
    treatment.forward += happens(50) ? drawTime(0, 0.5) : 0;
    treatment.recompute = drawTime(0.5, 1);
    treatment.copyOut = drawTime(0, 3);
    treatment.copyIn = drawTime(0, 3);
    treatment.activationMemory = 0;
  } else {
    treatment.recompute = drawTime(0, 2);
    treatment.activationMemory *= drawTime(0, 1);
    treatment.recomputedMemory = drawTime(0, 4);
  }
  treatment.backward += treatment.recompute;
  treatment.transientMemory = happens(30) ? drawTime(0, 8) : 0;
  return treatment;
}

LayerKind ProblemDrawer::drawKind(llvm::ArrayRef<std::string> names) {
  LayerKind kind;
  kind.parameterMemory = drawTime(0, 10);
  kind.updateTime = happens(30) ? drawTime(0, 2) : 0;
  Treatment none;
  none.name = names.front();
  none.forward = drawTime(0.5, 3);
  none.backward = none.forward * drawBackwardRatio();
  none.activationMemory = drawTime(0, 8);
  kind.treatments = {none};
  for (const std::string &name : names.drop_front())
    kind.treatments.push_back(drawTreatment(name, none));
  // A slower forward leaves the backward as it is.
  for (Treatment &treatment : kind.treatments)
    treatment.weightGradient =
        std::min(drawWeightGradient(treatment.forward),
                 treatment.backward - treatment.recompute);
  return kind;
}

void ProblemDrawer::drawLayers(Problem &problem) {
  std::vector<std::string> names = {"none", "select", "communication", "full"};
  names.resize(drawNumber(1, 4));
  if (happens(40))
    names.push_back("swap");
  // The order of treatments counts where they must be in order.
  std::shuffle(names.begin() + 1, names.end(), random);
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  const int64_t kinds = drawNumber(1, 3);
  int64_t layers = problem.minLayersPerChunk * chunks + drawNumber(1, 5);
  for (int64_t i = 0; i < kinds; ++i) {
    LayerKind kind = drawKind(names);
    kind.name = "kind" + std::to_string(i);
    kind.count = i + 1 < kinds ? drawNumber(0, layers) : layers;
    layers -= kind.count;
    problem.kinds.push_back(std::move(kind));
  }
}

void ProblemDrawer::drawExtras(Problem &problem) {
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  for (int64_t chunk : {int64_t(0), chunks - 1, drawNumber(0, chunks - 1)}) {
    if (happens(60))
      continue;
    ChunkExtra extra;
    extra.chunk = chunk;
    extra.forward = drawTime(0, 3);
    extra.backward = extra.forward * drawBackwardRatio();
    extra.weightGradient = drawWeightGradient(extra.forward);
    extra.parameterMemory = drawTime(0, 10);
    extra.activationMemory = drawTime(0, 3);
    extra.transientMemory = drawTime(0, 4);
    extra.updateTime = happens(30) ? drawTime(0, 4) : 0;
    problem.extras.push_back(extra);
  }
}

void ProblemDrawer::drawTransfers(Problem &problem) {
  // Transfers are drawn only where all tasks take time: a chunk without layers
  // takes none, nor does an input gradient where the weight gradient has it
  // all. The tasks of a slot end together, and with several chunks their
  // messages may go the same way, where the simulator sends one after the
  // other.
  const bool sendsTogether = !problem.schedule.pairs.empty() &&
                             problem.schedule.pipeline.getNumChunks() >
                                 problem.schedule.pipeline.stages;
  if (sendsTogether || problem.minLayersPerChunk == 0 ||
      mostWeightGradient > 0.5 || !happens(40))
    return;
  const bool hasShortTasks =
      problem.schedule.pipeline.pieces > 1 || problem.schedule.splitsBackward;
  problem.transferTime = hasShortTasks ? 0.125 : drawTime(0, 0.5);
}

void ProblemDrawer::drawGivenTables(Problem &problem) {
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  if (happens(15)) {
    problem.fixedLayers.assign(chunks, problem.minLayersPerChunk);
    int64_t left = problem.getNumLayers() - problem.minLayersPerChunk * chunks;
    for (; left > 0; --left)
      ++problem.fixedLayers[drawNumber(0, chunks - 1)];
  }
  if (happens(15)) {
    problem.fixedTreatments.resize(problem.getNumTreatments());
    std::vector<int64_t> &fixed = problem.fixedTreatments[drawNumber(
        0, static_cast<int64_t>(problem.getNumTreatments()) - 1)];
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      fixed.push_back(drawNumber(0, 2));
  }
}

/// The layers of the last kind may follow the one layer before them.
void ProblemDrawer::drawFollowers(Problem &problem) {
  if (problem.kinds.size() < 2 || !happens(40))
    return;
  LayerKind &leader = problem.kinds[problem.kinds.size() - 2];
  LayerKind &last = problem.kinds.back();
  if (leader.count + last.count == 0)
    return;
  last.count += leader.count - 1;
  leader.count = 1;
  problem.numFollowers = 1;
}

void ProblemDrawer::drawRules(Problem &problem) {
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  const auto treatments = static_cast<int64_t>(problem.getNumTreatments());
  drawFollowers(problem);
  drawGivenTables(problem);
  if (problem.fixedLayers.empty() && happens(20))
    problem.maxLayersPerChunk =
        (problem.getNumLayers() + chunks - 1) / chunks + drawNumber(0, 1);
  problem.treatmentsInOrder = happens(45);
  for (int64_t first = 0; first < treatments; ++first)
    for (int64_t second = 0; second < first; ++second)
      if (happens(25))
        problem.exclusive.emplace_back(first, second);
}

/// About what a stage with its share of the layers needs, more or less.
void ProblemDrawer::drawMemory(Problem &problem) {
  const schedule::Pipeline &pipeline = problem.schedule.pipeline;
  double parameters = 0, activations = 0;
  for (const LayerKind &kind : problem.kinds) {
    const auto count = static_cast<double>(kind.count);
    parameters += count * kind.parameterMemory;
    activations += count * kind.treatments.front().activationMemory;
  }
  const bool isUneven = happens(70);
  const double tightness = drawTime(0.5, 2);
  for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
    const double inFlight =
        static_cast<double>(problem.schedule.getMaxInFlight(stage)) /
        static_cast<double>(pipeline.pieces * pipeline.getNumChunks());
    double need = parameters / static_cast<double>(pipeline.stages) +
                  activations * inFlight;
    for (const ChunkExtra &extra : problem.extras)
      if (pipeline.stageOfChunk[extra.chunk] == stage)
        need += extra.parameterMemory + extra.activationMemory * inFlight;
    StageMemory memory;
    memory.constant = happens(30) ? drawTime(-2, 2) : 0;
    memory.limit = std::max(
        0.0, memory.constant + 4 +
                 need * tightness * (isUneven ? drawTime(0.75, 1.5) : 1.0));
    problem.stages.push_back(memory);
  }
}

/// A problem with at most `mostPlans` ways to deal and treat the layers, the
/// same for the same seed: up to 6 stages, 3 chunks on each, 3 kinds of layers,
/// 3 kinds of recompute and swap, tight and uneven limits (which may leave no
/// plan), and now and then every rule that there is. Weight gradients take the
/// same share of every forward, and messages no longer than any task.
Problem drawProblem(uint64_t seed, int64_t mostPlans) {
  ProblemDrawer drawer(seed);
  for (;;) {
    Problem problem = drawer.draw();
    int64_t plans = 0;
    enumeratePlans(problem, [&](const Plan &) { return ++plans <= mostPlans; });
    if (plans <= mostPlans)
      return problem;
  }
}

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
  const Evaluation evaluation = evaluate(problem, *result.plan);
  EXPECT_NEAR(evaluation.time, least, tolerance);
  EXPECT_EQ(evaluatePeaks(problem, *result.plan), evaluation.peaks);
}

/// Nothing if there is no plan.
std::optional<Plan> expectSameAsEnumeration(const Problem &problem) {
  EXPECT_EQ(getMessage(problem.check()), "");
  // A file says all of the problem, so what is read from it is solved.
  const std::string text = llvm::formatv("{0:2}", writeProblem(problem));
  const Problem again = llvm::cantFail(readProblem(text, "drawn.json"));
  EXPECT_EQ(llvm::formatv("{0:2}", writeProblem(again)).str(), text);
  const std::optional<double> least = findLeastTime(problem);
  llvm::Expected<SolveResult> result = solve(again);
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
