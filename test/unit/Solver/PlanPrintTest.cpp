//===- PlanPrintTest.cpp - Results as text and as JSON --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/PlanPrint.h"
#include "PlanTesting.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include <gtest/gtest.h>

using namespace mf::solver;

namespace {

SolveResult makeResult(const Problem &problem, Plan plan) {
  SolveResult result;
  result.plan = std::move(plan);
  result.time = result.bound = evaluate(problem, *result.plan).time;
  result.isProven = true;
  result.options = 12;
  result.optionsLeft = 3;
  result.nodes = 5;
  return result;
}

/// Without the line break that it starts with.
std::string trim(llvm::StringRef text) { return text.drop_front().str(); }

std::string print(const Problem &problem, const SolveResult &result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printResult(problem, result, os);
  return text;
}

/// Eight stages, on each a layer of a forward of 1 and a backward of 2.
Problem makeLine(int64_t microBatches) {
  Problem problem = makeSmallProblem();
  problem.name = "line";
  problem.schedule = makeSchedule("1f1b", 8, 1, microBatches);
  problem.stages.resize(8, {1000, 0});
  problem.kinds.resize(1);
  problem.kinds[0].count = 8;
  return problem;
}

TEST(PlanPrintTest, AGap) {
  const Problem problem = makeSmallProblem();
  SolveResult result = makeResult(problem, makeSmallPlan());
  result.isProven = false;
  result.bound = 36.25;
  const std::string text = print(problem, result);
  EXPECT_NE(text.find("\nstep 37\nbound 36.25\ngap 2.03 %\n"),
            std::string::npos)
      << text;
}

TEST(PlanPrintTest, NoPlan) {
  SolveResult result;
  result.bound = 20;
  result.isProven = true;
  EXPECT_EQ(print(makeSmallProblem(), result), trim(R"(
small: 4 layers on 2 stages, 2 micro-batches, schedule 1f1b
no plan is better
bound 20
gap proven
)"));
}

TEST(PlanPrintTest, ChunksOfAStage) {
  Problem problem = makeSmallProblem();
  problem.schedule = makeSchedule("interleaved", 2, 2, 2);
  const Plan plan = {{{{{1, 0}, {0, 0}}},
                      {{{0, 0}, {1, 0}}},
                      {{{0, 0}, {0, 1}}},
                      {{{0, 0}, {1, 0}}}}};
  const std::string text = print(problem, makeResult(problem, plan));
  EXPECT_NE(text.find("\n0         1,1   1,0        0,1  "), std::string::npos)
      << text;
  EXPECT_NE(text.find(" of chunk 3 "), std::string::npos) << text;
}

TEST(PlanPrintTest, TasksAlongStagesAreOneStretch) {
  const Problem problem = makeLine(8);
  const Plan plan = {std::vector<ChunkPlan>(8, {{{1, 0}}})};
  const std::string text = print(problem, makeResult(problem, plan));
  EXPECT_NE(text.find("a backward on each stage from "), std::string::npos)
      << text;
  EXPECT_LT(text.substr(text.find("the step is")).size(), 250U) << text;
}

TEST(PlanPrintTest, UpdatesAndTransfersEndThePath) {
  Problem problem = makeLine(1);
  problem.kinds[0].updateTime = 0.5;
  problem.transferTime = 0.25;
  const Plan plan = {std::vector<ChunkPlan>(8, {{{1, 0}}})};
  const SolveResult result = makeResult(problem, plan);
  EXPECT_DOUBLE_EQ(result.time, 3 * 8 + 14 * 0.25 + 0.5);
  const std::string text = print(problem, result);
  EXPECT_NE(text.find("the step is this path: a forward on each stage from 0 "
                      "to 6, 1 forward and 1 backward on stage 7, a backward "
                      "on each stage from 6 to 0, the update of 0.5; and "
                      "transfers of 3.5\n"),
            std::string::npos)
      << text;
}

TEST(PlanPrintTest, LongPathsAreCut) {
  // A micro-batch goes to and fro between two stages.
  Problem problem = makeLine(1);
  problem.schedule = makeSchedule("gpipe", 2, 12, 1);
  problem.kinds[0].count = 24;
  problem.stages.resize(2);
  const Plan plan = {std::vector<ChunkPlan>(24, {{{1, 0}}})};
  const std::string text = print(problem, makeResult(problem, plan));
  EXPECT_NE(text.find(" more stretches\n"), std::string::npos) << text;

  problem.schedule = makeSchedule("gpipe", 2, 12, 2);
  const std::string wide = print(problem, makeResult(problem, plan));
  EXPECT_NE(wide.find("24 backwards of 12 chunks on stage "), std::string::npos)
      << wide;
}

TEST(PlanPrintTest, ResultsAsJson) {
  const Problem problem = makeSmallProblem();
  llvm::json::Value value =
      writeResult(problem, makeResult(problem, makeSmallPlan()));
  const llvm::json::Value expected = llvm::cantFail(llvm::json::parse(R"({
    "problem": "small", "is_proven": true, "time": 37, "bound": 37, "gap": 0,
    "search": {"options": 12, "options_left": 3, "nodes": 5},
    "num_layer_list": [2, 2], "offset": [0, 0],
    "treatments": {"none": [2, 1], "recompute": [0, 1]},
    "chunks": [{"dense": {"none": 1}, "experts": {"none": 1}},
               {"experts": {"none": 1, "recompute": 1}}],
    "stages": [{"peak": 62, "limit": 100, "room": 38, "busy": 18},
               {"peak": 49, "limit": 100, "room": 51, "busy": 28}],
    "forward": [3, 4], "backward": [6, 10]})"));
  llvm::json::Object &object = *value.getAsObject();
  const llvm::json::Array path = *object.getArray("critical_path");
  object.erase("critical_path");
  EXPECT_EQ(value, expected);
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(path.front(),
            llvm::json::Value(llvm::json::Object{{"task", "forward"},
                                                 {"chunk", 0},
                                                 {"stage", 0},
                                                 {"count", 1},
                                                 {"time", 3}}));
  double time = 0;
  for (const llvm::json::Value &step : path)
    time += *step.getAsObject()->getNumber("time");
  EXPECT_EQ(time, 37);
}

TEST(PlanPrintTest, NoPlanAsJson) {
  SolveResult result;
  result.bound = 20;
  const llvm::json::Value value = writeResult(makeSmallProblem(), result);
  EXPECT_EQ(*value.getAsObject()->get("time"), llvm::json::Value(nullptr));
  EXPECT_EQ(value.getAsObject()->get("chunks"), nullptr);
}

TEST(PlanPrintTest, RefusalsThatWouldFitButNotShortenTheStep) {
  Problem problem = makeSmallProblem();
  problem.schedule = makeSchedule("interleaved", 2, 2, 2);
  const ChunkPlan before{{{0, 0}, {1, 3}}}, after{{{0, 0}, {2, 2}}};
  Refusal noGain;
  noGain.stage = 0, noGain.chunks = {after, before};
  noGain.saved = 1.5, noGain.time = 48;
  Refusal longer;
  longer.stage = 1, longer.chunks = {before, after};
  longer.saved = 1, longer.time = 50;
  std::string text;
  llvm::raw_string_ostream os(text);
  printRefusals(problem, {std::vector<ChunkPlan>(4, before)}, 48,
                {noGain, longer}, {}, os);
  EXPECT_EQ(text,
            "stage 0: chunk 0 experts none 1 -> 2, chunk 0 experts recompute "
            "3 -> 2 would save 1.5 per micro-batch, and fits, but the step "
            "still takes 48\n"
            "stage 1: chunk 3 experts none 1 -> 2, chunk 3 experts recompute "
            "3 -> 2 would save 1 per micro-batch, and fits, but the step then "
            "takes 50\n");
}

} // namespace
