//===- PipelineCasesTest.cpp - The published pipeline model, by its cases -===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every number of every case is compared. MF_PIPELINE_CASES names another file
// of such cases. The model adds 1e-10 to the imbalance that it prints, which is
// within our tolerance.
//
//===----------------------------------------------------------------------===//

#include "PublishedModel.h"
#include "mf/Pipeline/ScheduleError.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::events;
using schedule::Phase;
using schedule::Schedule;

namespace {

llvm::json::Array readCases() {
  const char *other = std::getenv("MF_PIPELINE_CASES");
  llvm::json::Object root =
      readJson(other ? other : MF_TEST_DATA "/pipeline_balance/cases.json");
  llvm::json::Array *cases = root.getArray("cases");
  return cases ? std::move(*cases) : llvm::json::Array();
}

/// Relative to 1 or to the larger number.
void expectNear(double found, std::optional<double> expected,
                const std::string &what) {
  ASSERT_TRUE(expected.has_value()) << what;
  double scale = std::max({1.0, std::abs(found), std::abs(*expected)});
  EXPECT_NEAR(found, *expected, 1e-9 * scale) << what;
}

void expectNumbers(llvm::ArrayRef<double> found,
                   const llvm::json::Array &expected, const std::string &what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t index = 0; index < found.size(); ++index)
    expectNear(found[index], expected[index].getAsNumber(),
               what + " of stage " + std::to_string(index));
}

void expectBubbles(const Bubbles &found, const llvm::json::Object &expected) {
  expectNear(found.real, expected.getNumber("real"), "real");
  expectNear(found.ideal, expected.getNumber("ideal"), "ideal");
  expectNear(found.imbalance, expected.getNumber("imba"), "imba");
  auto compare = [&](std::optional<double> share, const char *name) {
    std::optional<double> number = expected.getNumber(name);
    ASSERT_EQ(share.has_value(), number.has_value()) << name;
    if (share)
      expectNear(*share, number, name);
  };
  compare(found.communication, "comm");
  compare(found.recompute, "recompute");
}

/// `expected`: state, micro-batch, chunk on the stage, start, end.
void expectBlock(const Schedule &schedule, const Block &found,
                 llvm::ArrayRef<llvm::json::Value> expected,
                 const std::string &what) {
  int64_t row = found.task.chunk / schedule.pipeline.stages;
  EXPECT_EQ(found.task.phase == Phase::Forward ? "f" : "b",
            expected[0].getAsString())
      << what;
  EXPECT_EQ(found.task.microBatch, expected[1].getAsInteger()) << what;
  EXPECT_EQ(row, expected[2].getAsInteger()) << what;
  expectNear(found.start, expected[3].getAsNumber(), what + ": start");
  expectNear(found.end, expected[4].getAsNumber(), what + ": end");
}

/// The lists of all stages: with `kinds`, each block's kind is in front.
void expectBlocks(const Schedule &schedule, const PipelineTimeline &timeline,
                  const llvm::json::Array &expected, bool kinds) {
  ASSERT_EQ(timeline.stages.size(), expected.size());
  for (size_t stage = 0; stage < expected.size(); ++stage) {
    std::vector<Block> found;
    for (const Block &block : timeline.stages[stage])
      if (kinds || block.kind == BlockKind::Compute)
        found.push_back(block);
    const llvm::json::Array &blocks = *expected[stage].getAsArray();
    ASSERT_EQ(found.size(), blocks.size());
    for (size_t index = 0; index < found.size(); ++index) {
      std::string what = "block " + std::to_string(index) + " of stage " +
                         std::to_string(stage);
      const llvm::json::Array &fields = *blocks[index].getAsArray();
      llvm::ArrayRef<llvm::json::Value> block(fields.data(), fields.size());
      if (kinds) {
        const char *letters[] = {"c", "s", "r"};
        EXPECT_EQ(letters[static_cast<size_t>(found[index].kind)],
                  block[0].getAsString())
            << what;
        block = block.drop_front();
      }
      expectBlock(schedule, found[index], block, what);
    }
  }
}

void expectResult(const Schedule &schedule, const PipelineCosts &costs,
                  const llvm::json::Object &expected) {
  llvm::Expected<PipelineTimeline> timeline = simulatePipeline(schedule, costs);
  if (expected.get("error")) {
    ASSERT_FALSE(static_cast<bool>(timeline)) << "expected a deadlock";
    llvm::Error error = timeline.takeError();
    EXPECT_TRUE(error.isA<schedule::ScheduleError>());
    EXPECT_NE(llvm::toString(std::move(error)).find("deadlock: "),
              std::string::npos);
    return;
  }
  ASSERT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  expectBubbles(timeline->bubbles, *expected.getObject("bubbles"));
  expectNear(timeline->end, expected.getNumber("end_time"), "end_time");
  expectNumbers(timeline->stageEnds, *expected.getArray("stage_end"),
                "stage_end");
  expectNumbers(timeline->peakMemory, *expected.getArray("peak_memory"),
                "peak_memory");
  expectNumbers(timeline->finalMemory, *expected.getArray("final_memory"),
                "final_memory");
  if (const llvm::json::Array *blocks = expected.getArray("blocks"))
    expectBlocks(schedule, *timeline, *blocks, /*kinds=*/false);
  if (const llvm::json::Array *queues = expected.getArray("queues"))
    expectBlocks(schedule, *timeline, *queues, /*kinds=*/true);
}

TEST(PipelineCasesTest, AllFieldsOfAllCases) {
  llvm::json::Array cases = readCases();
  EXPECT_GT(cases.size(), 0u);
  for (const llvm::json::Value &item : cases) {
    const llvm::json::Object &test = *item.getAsObject();
    SCOPED_TRACE(test.getString("name")->str());
    llvm::Expected<PublishedModel> model = readPublishedModel(test);
    ASSERT_TRUE(static_cast<bool>(model)) << llvm::toString(model.takeError());
    if (const llvm::json::Object *free = test.getObject("no_comm"))
      expectResult(model->schedule, model->costs, *free);
    model->costs.transfers = TransferMode::Blocking;
    if (const llvm::json::Object *blocking = test.getObject("with_comm"))
      expectResult(model->schedule, model->costs, *blocking);
  }
}

} // namespace
