//===- PublishedProblemsTest.cpp - Problems of test/data/plan -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The plans for the files of problems equal the published ones.
//
//===----------------------------------------------------------------------===//

#include "PlanTesting.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>

using namespace mf::solver;

namespace {

void expectOptimum(const char *name, double time, double tolerance) {
  const Problem problem = readPublished(name);
  const SolveResult result = llvm::cantFail(solve(problem));
  EXPECT_TRUE(result.isProven) << name;
  EXPECT_NEAR(result.time, time, tolerance) << name;
  EXPECT_EQ(result.bound, result.time) << name;
  EXPECT_EQ(getMessage(result.plan->verify(problem)), "");
  EXPECT_EQ(evaluate(problem, *result.plan).time, result.time) << name;
}

TEST(PublishedProblemsTest, FastTuner) {
  expectOptimum("fast-tuner-t1.json", 1132.6622, 5e-5);
  expectOptimum("fast-tuner-t2.json", 3603.3977, 5e-5);
  expectOptimum("fast-tuner-t4.json", 5661.5587, 5e-5);
  expectOptimum("fast-tuner-t6.json", 5567.3332, 5e-5);
}

TEST(PublishedProblemsTest, PipelineBalance) {
  expectOptimum("sapp-llama-40gb.json", 2160.8, 0.05);
  expectOptimum("sapp-llama-62gb.json", 1826.7, 0.05);
}

int64_t getNumber(const llvm::json::Object &plan, const char *table, size_t row,
                  size_t stage) {
  const llvm::json::Array &rows = *plan.getArray(table);
  return *(*rows[row].getAsArray())[stage].getAsInteger();
}

/// Layers that are in both lists are recomputed in both ways.
ChunkPlan readChunk(const llvm::json::Object &plan, size_t row, size_t stage) {
  const int64_t layers = 2 + getNumber(plan, "offset", row, stage);
  const int64_t select = getNumber(plan, "select_recompute", row, stage);
  const int64_t communication =
      getNumber(plan, "select_comm_recompute", row, stage);
  const int64_t both = std::min(select, communication);
  return {{{layers - select - communication + both, select - both,
            communication - both, both}}};
}

// The memory of the file is fitted to another run: that it gives the published
// peak to the megabyte says that it is the published model's.
TEST(PublishedProblemsTest, ThePublishedPlanOfPipelineBalance) {
  const Problem problem = readPublished("sapp-llama-v3-56gb.json");
  const llvm::json::Value file = llvm::cantFail(
      llvm::json::parse(readData("/pipeline_balance/published.json")));
  const llvm::json::Object &published =
      *file.getAsObject()->getObject("demo_result_vpp3_lm");
  Plan plan;
  for (size_t row = 0; row < 3; ++row)
    for (size_t stage = 0; stage < 16; ++stage)
      plan.chunks.push_back(readChunk(published, row, stage));
  EXPECT_EQ(getMessage(plan.verify(problem)), "");
  const Evaluation evaluation = evaluate(problem, plan);
  EXPECT_NEAR(evaluation.time, *published.getNumber("end"), 0.5);
  EXPECT_EQ(*llvm::max_element(evaluation.peaks),
            *published.getNumber("peak_max"));
}

TEST(PublishedProblemsTest, RecomputingAllInPipelineBalance) {
  Problem problem = readPublished("sapp-llama-62gb.json");
  const llvm::json::Value file = llvm::cantFail(
      llvm::json::parse(readData("/pipeline_balance/published.json")));
  const llvm::json::Object &published =
      *file.getAsObject()->getObject("demo_vpp1_allrec");
  const Plan plan = {std::vector<ChunkPlan>(16, {{{0, 0, 0, 6}}})};
  const Evaluation evaluation = evaluate(problem, plan);
  EXPECT_NEAR(evaluation.time, *published.getNumber("end"), 1.5);
  EXPECT_EQ(*llvm::max_element(evaluation.peaks),
            *published.getNumber("peak_max"));
  for (const auto &[stage, peak] : *published.getObject("peaks_seen"))
    EXPECT_EQ(evaluation.peaks[std::stoi(stage.str())], *peak.getAsNumber())
        << stage.str();
}

} // namespace
