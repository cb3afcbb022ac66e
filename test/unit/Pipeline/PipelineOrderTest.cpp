//===- PipelineOrderTest.cpp - The recorded orders of pipelines -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every case of pipeline_balance/cases.json that records its blocks: each stage
// runs them in that order. MF_PIPELINE_CASES names another file of such cases.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mf::schedule;

namespace {

llvm::json::Value readFile() {
  const char *other = std::getenv("MF_PIPELINE_CASES");
  auto file = llvm::MemoryBuffer::getFile(
      other ? other : MF_TEST_DATA "/pipeline_balance/cases.json");
  return llvm::cantFail(llvm::json::parse((*file)->getBuffer()));
}

/// The blocks of a stage in the form of Schedule::print(). They name the chunk
/// by its row on the stage.
std::string printBlocks(const llvm::json::Array &blocks,
                        const Pipeline &pipeline, int64_t stage) {
  std::string text = "stage " + std::to_string(stage) + ":";
  std::vector<int32_t> chunks = pipeline.getChunksOfStages()[stage];
  for (const llvm::json::Value &item : blocks) {
    const llvm::json::Array &block = *item.getAsArray();
    Phase phase =
        *block[0].getAsString() == "f" ? Phase::Forward : Phase::Backward;
    text += " " +
            pipeline.getName({phase, chunks.at(*block[2].getAsInteger()),
                              static_cast<int32_t>(*block[1].getAsInteger())});
  }
  return text + "\n";
}

TEST(PipelineOrderTest, IsThatOfTheRecordedCases) {
  int64_t recorded = 0;
  const llvm::json::Value file = readFile();
  for (const llvm::json::Value &item : *file.getAsObject()->getArray("cases")) {
    const llvm::json::Object &test = *item.getAsObject();
    SCOPED_TRACE(test.getString("name")->str());
    const llvm::json::Array &times = *test.getArray("block_time");
    const llvm::json::Array *firstRow = times[0].getAsArray();
    const size_t stages = firstRow ? firstRow->size() : times.size();
    int64_t rows = firstRow ? times.size() : 1;
    const char *name = rows == 1 ? "1f1b"
                       : test.getString("method") == llvm::StringRef("vpp2")
                           ? "interleaved-low-memory"
                           : "interleaved";
    Schedule schedule =
        build(name, stages, rows, *test.getInteger("micro_num"));
    EXPECT_EQ(getText(schedule.verify()), "");
    const llvm::json::Array *blocks =
        test.getObject("no_comm")->getArray("blocks");
    if (!blocks)
      continue;
    ++recorded;
    std::string expected;
    for (size_t stage = 0; stage < stages; ++stage)
      expected +=
          printBlocks(*(*blocks)[stage].getAsArray(), schedule.pipeline, stage);
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
