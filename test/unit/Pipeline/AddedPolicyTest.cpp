//===- AddedPolicyTest.cpp - The schedule of docs/adding/schedule.md ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A policy outside the library, made as the page says.
//
//===----------------------------------------------------------------------===//

#include "ScheduleTesting.h"
#include "llvm/ADT/Twine.h"
#include "gtest/gtest.h"

using namespace mf::schedule;

namespace {

/// 1F1B that warms up with twice the forwards: between a result and the task of
/// the next stage that reads it lies a task of that stage, behind which the
/// transfer hides (Zhuang et al., 2023).
class EagerOneForwardOneBackward : public Policy {
public:
  llvm::StringRef getName() const override { return "eager-1f1b"; }
  llvm::StringRef getSummary() const override {
    return "1F1B with twice the forwards to warm up";
  }

  llvm::Error check(const Pipeline &pipeline) const override {
    if (pipeline.getNumChunks() != pipeline.stages)
      return llvm::createStringError(
          "schedule 'eager-1f1b' takes one chunk per stage, but " +
          llvm::Twine(pipeline.stages) + " stages have " +
          llvm::Twine(pipeline.getNumChunks()) + " chunks");
    return llvm::Error::success();
  }

  void addRules(const Pipeline &pipeline, int64_t stage,
                Rules &rules) const override {
    int32_t chunk = rules.getChunks().front();
    std::vector<Task> forwards, backwards;
    for (int32_t m = 0; m < pipeline.microBatches; ++m) {
      forwards.push_back({Phase::Forward, chunk, m});
      backwards.push_back({Phase::Backward, chunk, m});
    }
    rules.addAlternation(forwards, backwards,
                         2 * (pipeline.stages - stage - 1));
  }
};

Schedule buildEager(int64_t stages, int64_t microBatches) {
  EagerOneForwardOneBackward policy;
  llvm::Expected<Schedule> schedule =
      buildSchedule(policy, policy.place(stages, 1, microBatches));
  EXPECT_TRUE(static_cast<bool>(schedule));
  return std::move(*schedule);
}

TEST(AddedPolicyTest, RunsInAnyShape) {
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t microBatches = 1; microBatches <= 24; ++microBatches) {
      Schedule schedule = buildEager(stages, microBatches);
      EXPECT_EQ(getText(schedule.verify()), "");
      std::vector<Transfer> transfers = planTransfers(schedule);
      EXPECT_EQ(getText(verifyTransfers(schedule, transfers)), "");
      EXPECT_TRUE(runsThrough(schedule, &transfers));
    }
}

TEST(AddedPolicyTest, HoldsAlmostTwiceTheActivationsOf1F1B) {
  for (int64_t stages : {2, 4, 8}) {
    Schedule eager = buildEager(stages, 4 * stages);
    Schedule plain = build("1f1b", stages, 1, 4 * stages);
    EXPECT_EQ(getUnitEnd(eager), getUnitEnd(plain));
    for (int64_t stage = 0; stage < stages; ++stage)
      EXPECT_EQ(eager.getMaxInFlight(stage),
                2 * plain.getMaxInFlight(stage) - 1);
  }
}

TEST(AddedPolicyTest, RefusesSeveralChunksPerStage) {
  EagerOneForwardOneBackward policy;
  llvm::Expected<Schedule> schedule =
      buildSchedule(policy, policy.place(2, 2, 4));
  EXPECT_EQ(getText(schedule.takeError()),
            "schedule 'eager-1f1b' takes one chunk per stage, but 2 stages "
            "have 4 chunks");
}

TEST(AddedPolicyTest, LooksLikeThis) {
  EXPECT_EQ("\n" + drawUnitTimes(buildEager(3, 6)), R"(
stage 0: F0 F1 F2 F3 F4 .  .  B0--- F5 B1--- .  B2--- .  B3--- .  B4--- .  B5---
stage 1: .  F0 F1 F2 .  B0--- F3 B1--- F4 B2--- F5 B3--- .  B4--- .  B5---
stage 2: .  .  F0 B0--- F1 B1--- F2 B2--- F3 B3--- F4 B4--- F5 B5---
)");
}

} // namespace
