//===- PipelineCasesTest.cpp - The published pipeline model, by its cases -===//
//
// Every number of every case is compared. MF_PIPELINE_CASES names another file
// of such cases. The model adds 1e-10 to the imbalance that it prints, which is
// within our tolerance.
//
//===----------------------------------------------------------------------===//

#include "PublishedModel.h"
#include "mf/Pipeline/ScheduleError.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::sim;
using schedule::Phase;
using schedule::Schedule;

namespace {

Json readCases() {
  const char *other = std::getenv("MF_PIPELINE_CASES");
  std::string path =
      other ? other : MF_TEST_DATA "/pipeline_balance/cases.json";
  std::ifstream file(path);
  Json root = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(root.contains("cases")) << "cannot read " << path;
  return root.value("cases", Json::array());
}

/// Relative to 1 or to the larger number.
void expectNear(double found, double expected, const std::string &what) {
  double scale = std::max({1.0, std::abs(found), std::abs(expected)});
  EXPECT_NEAR(found, expected, 1e-9 * scale) << what;
}

void expectNumbers(llvm::ArrayRef<double> found, const Json &expected,
                   const std::string &what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t index = 0; index < found.size(); ++index)
    expectNear(found[index], expected[index],
               what + " of stage " + std::to_string(index));
}

void expectBubbles(const Bubbles &found, const Json &expected) {
  expectNear(found.real, expected.at("real"), "real");
  expectNear(found.ideal, expected.at("ideal"), "ideal");
  expectNear(found.imbalance, expected.at("imba"), "imba");
  auto compare = [&](std::optional<double> share, const char *name) {
    ASSERT_EQ(share.has_value(), expected.contains(name)) << name;
    if (share)
      expectNear(*share, expected.at(name), name);
  };
  compare(found.communication, "comm");
  compare(found.recompute, "recompute");
}

/// `expected`: state, micro-batch, chunk on the stage, start, end.
void expectBlock(const Schedule &schedule, const Block &found,
                 const Json &expected, const std::string &what) {
  int64_t row = found.task.chunk / schedule.pipeline.stages;
  EXPECT_EQ(found.task.phase == Phase::Forward ? "f" : "b", expected.at(0))
      << what;
  EXPECT_EQ(found.task.microBatch, expected.at(1)) << what;
  EXPECT_EQ(row, expected.at(2)) << what;
  expectNear(found.start, expected.at(3), what + ": start");
  expectNear(found.end, expected.at(4), what + ": end");
}

/// The lists of all stages: with `kinds`, each block's kind is in front.
void expectBlocks(const Schedule &schedule, const PipelineTimeline &timeline,
                  const Json &expected, bool kinds) {
  ASSERT_EQ(timeline.stages.size(), expected.size());
  for (size_t stage = 0; stage < expected.size(); ++stage) {
    std::vector<Block> found;
    for (const Block &block : timeline.stages[stage])
      if (kinds || block.kind == BlockKind::Compute)
        found.push_back(block);
    ASSERT_EQ(found.size(), expected[stage].size());
    for (size_t index = 0; index < found.size(); ++index) {
      std::string what = "block " + std::to_string(index) + " of stage " +
                         std::to_string(stage);
      Json block = expected[stage][index];
      if (kinds) {
        const char *letters[] = {"c", "s", "r"};
        EXPECT_EQ(letters[static_cast<size_t>(found[index].kind)], block.at(0))
            << what;
        block.erase(0);
      }
      expectBlock(schedule, found[index], block, what);
    }
  }
}

void expectResult(const Schedule &schedule, const PipelineCosts &costs,
                  const Json &expected) {
  llvm::Expected<PipelineTimeline> timeline = simulatePipeline(schedule, costs);
  if (expected.contains("error")) {
    ASSERT_FALSE(static_cast<bool>(timeline)) << "expected a deadlock";
    llvm::Error error = timeline.takeError();
    EXPECT_TRUE(error.isA<schedule::ScheduleError>());
    EXPECT_NE(llvm::toString(std::move(error)).find("deadlock: "),
              std::string::npos);
    return;
  }
  ASSERT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  expectBubbles(timeline->bubbles, expected.at("bubbles"));
  expectNear(timeline->end, expected.at("end_time"), "end_time");
  expectNumbers(timeline->stageEnds, expected.at("stage_end"), "stage_end");
  expectNumbers(timeline->peakMemory, expected.at("peak_memory"),
                "peak_memory");
  expectNumbers(timeline->finalMemory, expected.at("final_memory"),
                "final_memory");
  if (expected.contains("blocks"))
    expectBlocks(schedule, *timeline, expected["blocks"], /*kinds=*/false);
  if (expected.contains("queues"))
    expectBlocks(schedule, *timeline, expected["queues"], /*kinds=*/true);
}

TEST(PipelineCasesTest, AllFieldsOfAllCases) {
  Json cases = readCases();
  EXPECT_GT(cases.size(), 0u);
  for (const Json &test : cases) {
    SCOPED_TRACE(test.at("name").get<std::string>());
    llvm::Expected<PublishedModel> model = readPublishedModel(test);
    ASSERT_TRUE(static_cast<bool>(model)) << llvm::toString(model.takeError());
    if (test.contains("no_comm"))
      expectResult(model->schedule, model->costs, test["no_comm"]);
    model->costs.transfers = TransferMode::Blocking;
    if (test.contains("with_comm"))
      expectResult(model->schedule, model->costs, test["with_comm"]);
  }
}

} // namespace
