//===- DualPipeTest.cpp - Orders of DualPipeV as published ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleTesting.h"
#include "gtest/gtest.h"

using namespace mf::schedule;

namespace {

/// The order of a stage in the words of its published generator: F0 is a
/// forward of the first chunk, I1 an input gradient of the second, W a weight
/// gradient.
std::string getWords(const Schedule &schedule, int64_t stage) {
  std::string words;
  for (const Task &task : schedule.stages[stage]) {
    const bool isSecond = task.chunk >= schedule.pipeline.stages;
    words += words.empty() ? "" : " ";
    if (task.phase == Phase::WeightGradient)
      words += "W";
    else
      words += std::string(task.phase == Phase::Forward ? "F" : "I") +
               (isSecond ? "1" : "0");
  }
  return words;
}

std::string repeat(int64_t count, llvm::StringRef words) {
  std::string text;
  for (int64_t turn = 0; turn < count; ++turn)
    text += (words + " ").str();
  return text;
}

/// The eight steps of the generator on a stage.
std::string describeSteps(int64_t stages, int64_t microBatches, int64_t stage) {
  const int64_t behind = stages - stage - 1, middle = (stage + 1) / 2;
  std::string text =
      repeat(2 * behind, "F0") + repeat(stage + 1, "F0 F1") +
      repeat(behind, "I1 W F1") +
      repeat(microBatches - 2 * stages + stage + 1, "F0 I1 W F1 I0 W") +
      repeat(behind, "I1 W F1 I0 W") + repeat(middle, "I1 W I0 W");
  // The first split backward of the cool-down is the second chunk's on odd
  // stages.
  text += stage % 2 == 1 ? "I1 I0 " : "I1 W I0 ";
  text += repeat(stage - middle, "I1 I0") + repeat(behind, "W I0") +
          repeat(stage + 1, "W");
  return llvm::StringRef(text).rtrim().str();
}

TEST(DualPipeTest, OrdersAreThoseOfTheGenerator) {
  for (int64_t stages = 2; stages <= 16; ++stages)
    for (int64_t microBatches : {2 * stages, 2 * stages + 1, 4 * stages}) {
      SCOPED_TRACE(testing::Message() << stages << " " << microBatches);
      Schedule schedule = build("dualpipe-v", stages, 2, microBatches);
      for (int64_t stage = 0; stage < stages; ++stage) {
        EXPECT_EQ(getWords(schedule, stage),
                  describeSteps(stages, microBatches, stage));
        EXPECT_EQ(schedule.getMaxInFlight(stage), 2 * stages + 1);
      }
    }
}

} // namespace
