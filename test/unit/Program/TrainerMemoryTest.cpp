//===- TrainerMemoryTest.cpp - The memory of the trainer over a schedule --===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/TrainerMemory.h"
#include "mf/Pipeline/Policy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::trainer;

namespace {

Bytes makeBytes(TrainerCategory category, int64_t bytes) {
  Bytes result;
  result[category] = bytes;
  return result;
}

/// A chunk whose forward keeps `kept` bytes and holds `more` beside them at its
/// end. Its first backward leaves `sums`.
ChunkMemory makeChunk(int64_t kept, int64_t more, int64_t sums) {
  ChunkMemory chunk;
  chunk.forward = {{makeBytes(TrainerCategory::Kept, kept), "forward"},
                   makeBytes(TrainerCategory::Kept, kept)};
  chunk.forward.peak.bytes[TrainerCategory::Values] = more;
  chunk.backwards.fill({{makeBytes(TrainerCategory::Values, more), "backward"},
                        makeBytes(TrainerCategory::Kept, -kept)});
  chunk.backwards.front().change[TrainerCategory::GradientSums] = sums;
  return chunk;
}

schedule::Schedule makeSchedule(int64_t stages, int64_t microBatches) {
  schedule::Pipeline pipeline;
  pipeline.stages = stages;
  pipeline.microBatches = microBatches;
  pipeline.stageOfChunk.clear();
  for (int64_t stage = 0; stage < stages; ++stage)
    pipeline.stageOfChunk.push_back(stage);
  return cantFail(schedule::buildSchedule(
      *cantFail(schedule::findPolicy("1f1b")), pipeline));
}

// With 1F1B, stage s of 4 has 4 - s micro-batches in flight.
TEST(TrainerMemoryTest, StagesHoldTheMicroBatchesInFlight) {
  const schedule::Schedule schedule = makeSchedule(4, 8);
  const std::vector<ChunkMemory> chunks(4, makeChunk(100, 10, 0));
  TrainerStage stage;
  stage.always = makeBytes(TrainerCategory::States, 1000);
  for (int64_t number = 0; number < 4; ++number) {
    const TrainerPeak peak = findPeak(schedule, number, chunks, stage);
    EXPECT_EQ(peak.moment.bytes[TrainerCategory::Kept], 100 * (4 - number));
    EXPECT_EQ(peak.moment.bytes.getTotal(), 1000 + 100 * (4 - number) + 10);
    EXPECT_EQ(peak.moment.at, "forward");
  }
}

// The second backward of a chunk and each later one have memory of their own.
TEST(TrainerMemoryTest, EachBackwardHasItsOwnMemory) {
  std::vector<ChunkMemory> chunks(1, makeChunk(100, 10, 0));
  for (auto [number, backward] : llvm::enumerate(chunks[0].backwards))
    backward.peak.bytes[TrainerCategory::WeightGradients] =
        static_cast<int64_t>(100 * (number + 1));
  const std::array<std::string, 4> tasks = {"B0", "B1", "B2", "B2"};
  for (auto [number, task] : llvm::enumerate(tasks)) {
    const TrainerPeak peak = findPeak(
        makeSchedule(1, static_cast<int64_t>(number) + 1), 0, chunks, {});
    EXPECT_EQ(peak.task, task);
  }
}

// What backward has left whole is not there any more.
TEST(TrainerMemoryTest, TheUpdateCanBeThePeak) {
  const std::vector<ChunkMemory> chunks(1, makeChunk(100, 10, 50));
  TrainerStage stage;
  stage.update = {makeBytes(TrainerCategory::Values, 500), "largest weight"};
  const TrainerPeak peak = findPeak(makeSchedule(1, 2), 0, chunks, stage);
  EXPECT_EQ(peak.moment.bytes.getTotal(), 500);
  EXPECT_EQ(peak.task, "update");
}

} // namespace
