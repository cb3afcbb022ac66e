//===- RefusalPrintTest.cpp - Tests of why stages have no better option ---===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/Policy.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include <gtest/gtest.h>

using namespace mf::solver;

namespace {

/// Three stages with a chunk or two each, of two kinds of layers.
Problem makeProblem(int64_t chunksPerStage) {
  Problem problem;
  const auto &policy =
      **mf::schedule::findPolicy(chunksPerStage > 1 ? "interleaved" : "1f1b");
  problem.schedule =
      llvm::cantFail(buildSchedule(policy, policy.place(3, chunksPerStage, 6)));
  Treatment keep, full;
  keep.name = "keep", full.name = "full";
  LayerKind dense, sparse;
  dense.name = "dense", sparse.name = "moe";
  dense.treatments = sparse.treatments = {keep, full};
  problem.kinds = {dense, sparse};
  problem.stages = {{100, 0}, {100, 0}, {100, 0}};
  return problem;
}

const ChunkPlan before{{{0, 1}, {1, 3}}}, after{{{0, 1}, {2, 2}}};

std::string print(const Problem &problem, llvm::ArrayRef<Refusal> refusals) {
  const Plan plan{
      std::vector<ChunkPlan>(problem.schedule.pipeline.getNumChunks(), before)};
  std::string text;
  llvm::raw_string_ostream os(text);
  printRefusals(problem, plan, 48, refusals, {}, os);
  return text;
}

TEST(RefusalPrintTest, SaysOfEveryStageWhy) {
  Refusal memory, noGain;
  memory.stage = 0, memory.chunks = {after};
  memory.saved = 1.5, memory.missingMemory = 12;
  noGain.stage = 1, noGain.chunks = {after};
  noGain.saved = 1.5, noGain.time = 48;
  EXPECT_EQ(print(makeProblem(1), {memory, noGain}),
            "stage 0: moe keep 1 -> 2, moe full 3 -> 2 would save 1.5 per "
            "micro-batch, but needs 12 more than the limit of 100\n"
            "stage 1: moe keep 1 -> 2, moe full 3 -> 2 would save 1.5 per "
            "micro-batch, and fits, but the step still takes 48\n"
            "stage 2: no treatment of its layers is faster\n");
}

TEST(RefusalPrintTest, NamesChunksWhereAStageHasSeveral) {
  Refusal refusal;
  refusal.stage = 1, refusal.chunks = {before, after};
  refusal.saved = 1, refusal.time = 50;
  EXPECT_EQ(print(makeProblem(2), {refusal}),
            "stage 0: no treatment of its layers is faster\n"
            "stage 1: chunk 4 moe keep 1 -> 2, chunk 4 moe full 3 -> 2 would "
            "save 1 per micro-batch, and fits, but the step then takes 50\n"
            "stage 2: no treatment of its layers is faster\n");
}

TEST(RefusalPrintTest, WritesChangesAsJson) {
  Refusal refusal;
  refusal.stage = 2, refusal.chunks = {after};
  refusal.saved = 1.5, refusal.missingMemory = 12;
  const Plan plan{{before, before, before}};
  const auto json = writeRefusals(makeProblem(1), plan, {refusal});
  ASSERT_EQ(json.size(), 1U);
  const llvm::json::Object &object = *json[0].getAsObject();
  EXPECT_EQ(object.getInteger("stage"), 2);
  EXPECT_EQ(object.getNumber("missing_memory"), 12);
  EXPECT_FALSE(object.get("time"));
  const llvm::json::Object &change =
      *object.getArray("changes")->front().getAsObject();
  EXPECT_EQ(change.getString("kind"), "moe");
  EXPECT_EQ(change.getString("treatment"), "keep");
  EXPECT_EQ(change.getInteger("before"), 1);
  EXPECT_EQ(change.getInteger("after"), 2);
}

} // namespace
