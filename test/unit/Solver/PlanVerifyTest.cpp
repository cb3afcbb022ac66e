//===- PlanVerifyTest.cpp - The rules that plans keep ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlanTesting.h"
#include <gtest/gtest.h>

using namespace mf::solver;

namespace {

std::string verify(const Problem &problem, const Plan &plan) {
  EXPECT_EQ(getMessage(problem.check()), "");
  return getMessage(plan.verify(problem));
}

/// What is wrong with the small plan after changes.
struct WrongPlan {
  void (*change)(Problem &, Plan &);
  const char *message;
};

const WrongPlan wrongPlans[] = {
    {[](Problem &, Plan &) {}, ""},
    // Every layer once and in order.
    {[](Problem &, Plan &plan) { plan.chunks[1].counts[1][0] = 2; },
     "the chunks have 4 layers of kind 'experts', expected 3"},
    {[](Problem &, Plan &plan) { std::swap(plan.chunks[0], plan.chunks[1]); },
     "chunk 1 has layers of kind 'dense' behind layers of kind 'experts', "
     "expected the kinds in their order"},
    {[](Problem &, Plan &plan) { plan.chunks[1].counts[1][0] = -1; },
     "chunk 1 has -1 layers of a kind, expected no fewer than 0"},
    {[](Problem &, Plan &plan) { plan.chunks.pop_back(); },
     "the plan has 1 chunks, expected 2"},
    // Numbers of layers.
    {[](Problem &problem, Plan &) { problem.fixedLayers = {3, 1}; },
     "chunk 0 has 2 layers, expected the given 3"},
    {[](Problem &problem, Plan &plan) {
       problem.maxLayersPerChunk = 2;
       plan.chunks = {{{{1, 0}, {2, 0}}}, {{{0, 0}, {1, 0}}}};
     },
     "chunk 0 has 3 layers, expected at most 2"},
    {[](Problem &problem, Plan &plan) {
       problem.minLayersPerChunk = 2;
       plan.chunks = {{{{1, 0}, {2, 0}}}, {{{0, 0}, {1, 0}}}};
     },
     "chunk 1 has 1 layers, expected at least 2"},
    // Given treatments are cut to the layers.
    {[](Problem &problem, Plan &) { problem.fixedTreatments = {{}, {0, 1}}; },
     ""},
    {[](Problem &problem, Plan &) { problem.fixedTreatments = {{}, {1, 1}}; },
     "chunk 0 has 0 layers of treatment 'recompute', expected the given 1"},
    {[](Problem &problem, Plan &) { problem.fixedTreatments = {{}, {0, 5}}; },
     "chunk 1 has 1 layers of treatment 'recompute', expected the given 2"},
    {[](Problem &problem, Plan &) { problem.exclusive = {{0, 1}}; },
     "chunk 1 has layers of treatment 'none' and of treatment 'recompute', "
     "expected one of them only"},
    {[](Problem &problem, Plan &plan) {
       problem.treatmentsInOrder = true;
       plan.chunks[0].counts = {{0, 1}, {1, 0}};
     },
     "chunk 0 has a layer of treatment 'none' behind one of treatment "
     "'recompute', expected the treatments in their order"},
    {[](Problem &problem, Plan &plan) {
       problem.forbidden = {{0, {plan.chunks[1]}}, {1, {plan.chunks[1]}}};
     },
     "the chunks of stage 1 are forbidden, expected others"},
    // Copies fit into their tasks.
    {[](Problem &problem, Plan &) {
       problem.kinds[1].treatments[1].copyOut = 4;
       problem.kinds[1].treatments[1].copyIn = 10;
     },
     ""},
    {[](Problem &problem, Plan &) {
       problem.kinds[1].treatments[1].copyOut = 4.5;
     },
     "copies to the host of chunk 1 take 4.5, expected no more than the 4 of "
     "its forward"},
    {[](Problem &problem, Plan &) {
       problem.kinds[1].treatments[1].copyIn = 11;
     },
     "copies from the host of chunk 1 take 11, expected no more than the 10 of "
     "its backward"},
    // Stage 0 holds two micro-batches of 16 and parameters of 30; stage 1 one
    // of 9 and 40.
    {[](Problem &problem, Plan &) { problem.stages = {{62, 0}, {49, 0}}; }, ""},
    {[](Problem &problem, Plan &) { problem.stages = {{61.75, 0}, {49, 0}}; },
     "stage 0 needs memory of 62, 0.25 more than its limit of 61.75"},
    {[](Problem &problem, Plan &) {
       problem.stages = {{61.75, -0.25}, {49, 1}};
     },
     "stage 1 needs memory of 50, 1 more than its limit of 49"},
};

TEST(PlanVerifyTest, ErrorsNameTheRule) {
  for (const WrongPlan &each : wrongPlans) {
    Problem problem = makeSmallProblem();
    Plan plan = makeSmallPlan();
    each.change(problem, plan);
    EXPECT_EQ(verify(problem, plan), each.message);
  }
}

TEST(PlanVerifyTest, FollowersHaveTheTreatmentOfTheLayerBefore) {
  Problem problem = makeSmallProblem();
  problem.kinds[0].count = 1;
  problem.numFollowers = 1;
  Plan plan;
  plan.chunks = {{{{1, 0}, {0, 0}}}, {{{0, 0}, {2, 0}}}};
  problem.kinds[1].count = 2;
  EXPECT_EQ(verify(problem, plan), "");
  plan.chunks[1].counts[1] = {1, 1};
  EXPECT_EQ(verify(problem, plan),
            "a layer of kind 'experts' has treatment 'recompute', expected "
            "'none', that of the layer that it follows");
  // Given numbers do not count followers.
  plan.chunks = {{{{0, 1}, {0, 1}}}, {{{0, 0}, {0, 1}}}};
  problem.fixedTreatments = {{}, {1, 0}};
  EXPECT_EQ(verify(problem, plan), "");
}

TEST(PlanVerifyTest, MemoryOfExtrasAndTransients) {
  Problem problem = makeSmallProblem();
  problem.stages = {{62, 0}, {49, 0}};
  problem.kinds[0].treatments[0].transientMemory = 5;
  problem.kinds[1].treatments[0].transientMemory = 7;
  problem.kinds[1].treatments[1].transientMemory = 9;
  problem.extras.push_back({});
  problem.extras.back().parameterMemory = 100;
  problem.extras.back().activationMemory = 10;
  problem.extras.back().transientMemory = 6;
  // The largest transient counts once, activations twice.
  problem.stages[0].limit = 62 + 100 + 2 * 10 + 7;
  problem.stages[1].limit = 49 + 9;
  EXPECT_EQ(verify(problem, makeSmallPlan()), "");
  problem.stages[0].limit -= 1;
  EXPECT_EQ(verify(problem, makeSmallPlan()).substr(0, 28),
            "stage 0 needs memory of 189,");
}

/// The most that a stage holds with activations of 1 for each layer and nothing
/// else: bisected by limits.
int64_t findPeak(Problem problem, const Plan &plan, int64_t stage) {
  for (int64_t limit = 0;; ++limit) {
    problem.stages[stage].limit = static_cast<double>(limit);
    if (getMessage(plan.verify(problem)).empty())
      return limit;
  }
}

Problem makeUnitProblem(mf::schedule::Schedule schedule) {
  Problem problem;
  LayerKind kind;
  kind.name = "layer";
  kind.count = schedule.pipeline.getNumChunks();
  Treatment none;
  none.name = "none";
  none.forward = none.backward = none.activationMemory = 1;
  kind.treatments = {none};
  problem.kinds = {kind};
  problem.stages.resize(schedule.pipeline.stages, {1e6, 0});
  problem.schedule = std::move(schedule);
  return problem;
}

TEST(PlanVerifyTest, MemoryIsWhatTheScheduleHoldsInFlight) {
  const std::tuple<const char *, int64_t, int64_t, int64_t> cases[] = {
      {"gpipe", 1, 5, 1},
      {"interleaved-low-memory", 3, 9, 1},
      {"zero-bubble-v", 2, 8, 1},
      {"seq1f1b", 1, 4, 4}};
  for (auto [name, chunks, microBatches, pieces] : cases) {
    Problem problem =
        makeUnitProblem(makeSchedule(name, 4, chunks, microBatches, pieces));
    // Pieces hold their share.
    problem.kinds[0].treatments[0].activationMemory = pieces;
    const Plan plan = {std::vector<ChunkPlan>(4 * chunks, {{{1}}})};
    ASSERT_EQ(getMessage(problem.check()), "");
    for (int64_t stage = 0; stage < 4; ++stage)
      EXPECT_EQ(findPeak(problem, plan, stage),
                problem.schedule.getMaxInFlight(stage))
          << name << " stage " << stage;
  }
}

} // namespace
