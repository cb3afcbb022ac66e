//===- PipelineOrderTest.cpp - The recorded orders of pipelines -----------===//
//
// Every case of pipeline_cases.json that records its blocks: each stage runs
// them in that order. MF_PIPELINE_CASES names another file of such cases.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace mf::schedule;
using Json = nlohmann::ordered_json;

namespace {

Json readCases() {
  const char *other = std::getenv("MF_PIPELINE_CASES");
  std::ifstream file(other ? other
                           : MF_TEST_DATA "/pipeline/pipeline_cases.json");
  return Json::parse(file)["cases"];
}

/// The blocks of a stage in the form of Schedule::print(). They name the chunk
/// by its row on the stage.
std::string printBlocks(const Json &blocks, const Pipeline &pipeline,
                        int64_t stage) {
  std::string text = "stage " + std::to_string(stage) + ":";
  std::vector<int32_t> chunks = pipeline.getChunksOfStages()[stage];
  for (const Json &block : blocks) {
    Phase phase = block[0] == "f" ? Phase::Forward : Phase::Backward;
    text += " " + pipeline.getName({phase, chunks.at(block[2].get<int64_t>()),
                                    block[1].get<int32_t>()});
  }
  return text + "\n";
}

TEST(PipelineOrderTest, IsThatOfTheRecordedCases) {
  int64_t recorded = 0;
  for (const Json &test : readCases()) {
    SCOPED_TRACE(test["name"].get<std::string>());
    bool isInterleaved = test["block_time"][0].is_array();
    const Json &row =
        isInterleaved ? test["block_time"][0] : test["block_time"];
    int64_t rows = isInterleaved ? test["block_time"].size() : 1;
    const char *name = rows == 1 ? "1f1b"
                       : test.value("method", "") == "vpp2"
                           ? "interleaved-low-memory"
                           : "interleaved";
    Schedule schedule = build(name, row.size(), rows, test["micro_num"]);
    EXPECT_EQ(getText(schedule.verify()), "");
    if (!test["no_comm"].contains("blocks"))
      continue;
    ++recorded;
    std::string expected;
    for (size_t stage = 0; stage < row.size(); ++stage)
      expected += printBlocks(test["no_comm"]["blocks"][stage],
                              schedule.pipeline, stage);
    EXPECT_EQ(printToString(schedule), expected);
  }
  EXPECT_GT(recorded, 0);
}

TEST(PipelineOrderTest, HasTheWarmUpOfTheModel) {
  // As published, for micro-batches that fill the stages.
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t chunks = 2; chunks <= 4; ++chunks)
      for (int64_t microBatches = stages; microBatches <= 3 * stages;
           ++microBatches)
        for (int64_t stage = 0; stage < stages; ++stage) {
          int64_t rest = microBatches % stages;
          int64_t warmUp =
              (chunks + 1) * stages - 2 * stage - 2 + rest * (chunks - 1);
          Schedule schedule =
              build("interleaved", stages, chunks, microBatches);
          const std::vector<Task> &tasks = schedule.stages[stage];
          int64_t forwards = 0;
          while (tasks[forwards].phase == Phase::Forward)
            ++forwards;
          EXPECT_EQ(forwards, std::min(warmUp + 1, chunks * microBatches));
          if (rest != 0)
            continue;
          schedule =
              build("interleaved-low-memory", stages, chunks, microBatches);
          forwards = 0;
          while (schedule.stages[stage][forwards].phase == Phase::Forward)
            ++forwards;
          EXPECT_EQ(forwards, chunks * stages - stage - 1 + 1);
        }
}

} // namespace
