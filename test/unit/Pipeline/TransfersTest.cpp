//===- TransfersTest.cpp - When messages are issued -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleTesting.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::schedule;

namespace {

TEST(TransfersTest, AllMessagesArrive) {
  int64_t schedules = 0;
  forEachSchedule(8, 4, 40, [&](const Schedule &schedule) {
    ++schedules;
    EXPECT_EQ(getText(verifyTransfers(schedule, planTransfers(schedule))), "")
        << printToString(schedule);
  });
  EXPECT_GT(schedules, 1000);
}

TEST(TransfersTest, OneAheadTwoBehindWhereStagesKeepStep) {
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t microBatches = 1; microBatches <= 20; ++microBatches)
      for (const char *name : {"gpipe", "1f1b"}) {
        Schedule schedule = build(name, stages, 1, microBatches);
        std::vector<Transfer> transfers = planTransfers(schedule);
        EXPECT_EQ(transfers.size(), 2 * (stages - 1) * microBatches);
        for (const Transfer &transfer : transfers) {
          EXPECT_EQ(transfer.ahead, 1);
          EXPECT_EQ(transfer.behind, 2);
        }
      }
}

TEST(TransfersTest, StagesOfTheSameChunkNeedNone) {
  Schedule schedule = build("zero-bubble-v", 3, 2, 6);
  std::vector<Transfer> transfers = planTransfers(schedule);
  // Five boundaries between six chunks, the third of which is on one stage.
  EXPECT_EQ(transfers.size(), 4u * 2u * 6u);
  EXPECT_TRUE(planTransfers(build("gpipe", 1, 3, 4)).empty());
}

TEST(TransfersTest, HoldUpNoTask) {
  // With transfers that take no time, every task starts when it would if
  // messages were always there. So a wait is for the time of a transfer only.
  forEachSchedule(5, 3, 12, [&](const Schedule &schedule) {
    std::vector<std::vector<int64_t>> starts = schedule.getUnitStarts();
    auto find = [&](const Task &task) {
      int64_t stage = schedule.pipeline.stageOfChunk[task.chunk];
      const std::vector<Task> &tasks = schedule.stages[stage];
      int64_t position =
          std::find(tasks.begin(), tasks.end(), task) - tasks.begin();
      return std::make_pair(stage, position);
    };
    for (const Transfer &transfer : planTransfers(schedule)) {
      auto [sender, producer] = find(transfer.producer);
      auto [receiver, reader] = find(transfer.reader);
      // A message is made when the slot of its task ends.
      auto getEnd = [&](int64_t stage, int64_t position) {
        while (!schedule.pairs.empty() && schedule.pairs[stage][position])
          ++position;
        return starts[stage][position] +
               getUnitTime(schedule.stages[stage][position].phase);
      };
      const int64_t made = getEnd(sender, producer);
      int64_t last = reader - transfer.ahead - 1;
      if (last < 0)
        continue;
      EXPECT_LE(getEnd(receiver, last), made);
      // Not earlier than need be, as it takes memory from then on; but it may
      // always run beside the slot before.
      int64_t beside = 0;
      for (int64_t position = 1; position < reader; ++position)
        if (schedule.pairs.empty() || !schedule.pairs[receiver][position - 1])
          beside = position;
      if (!schedule.pairs.empty() && schedule.pairs[receiver][reader - 1])
        beside = std::min(beside, last + 1);
      if (last + 1 < beside)
        EXPECT_GT(getEnd(receiver, last + 1), made);
    }
  });
}

TEST(TransfersTest, MalformedTransfersAreRefused) {
  Schedule schedule = build("1f1b", 2, 1, 1);
  std::vector<Transfer> planned = planTransfers(schedule);
  ASSERT_EQ(planned.size(), 2u);
  auto refuse = [&](const std::vector<Transfer> &transfers) {
    return getText(verifyTransfers(schedule, transfers));
  };
  EXPECT_EQ(refuse({planned[0]}),
            "the message from F0 of stage 0 (task 0) to F0 of stage 1 (task 0) "
            "is missing, expected a transfer");
  EXPECT_EQ(refuse({planned[0], planned[1], planned[0]}),
            "the message from B0 of stage 1 (task 1) to B0 of stage 0 (task 1) "
            "is there twice, expected once");
  Transfer wrong = planned[0];
  wrong.ahead = 0;
  EXPECT_EQ(refuse({wrong, planned[1]}),
            "the message from B0 of stage 1 (task 1) to B0 of stage 0 (task 1) "
            "is ahead 0 and behind 2, expected both at least 1");
  wrong = planned[0];
  wrong.producer.phase = Phase::Forward;
  EXPECT_EQ(refuse({wrong, planned[1]}),
            "the message from F0 of stage 1 (task 0) to B0 of stage 0 (task 1) "
            "is none, expected a result that the reader takes from another "
            "stage");
  wrong = planned[0];
  wrong.reader.chunk = 7;
  EXPECT_EQ(refuse({wrong, planned[1]}),
            "a transfer from B0 of chunk 1 to B0 of chunk 7, expected tasks of "
            "the schedule");
  schedule.stages[0].pop_back();
  EXPECT_EQ(refuse(planned), "stage 0 does not run B0 of chunk 0, expected "
                             "every task once");
}

TEST(TransfersTest, MessagesThatOvertakeAreRefused) {
  Schedule schedule = build("gpipe", 2, 1, 2);
  std::swap(schedule.stages[1][0], schedule.stages[1][1]);
  EXPECT_EQ(getText(schedule.verify()), "");
  std::vector<Transfer> transfers = planTransfers(schedule);
  EXPECT_EQ(getText(verifyTransfers(schedule, transfers)),
            "F0 of stage 0 (task 0) runs before F1 of stage 0 (task 1), but F0 "
            "of stage 1 (task 1) runs behind F1 of stage 1 (task 0), expected "
            "messages to be read in the order in which they are made");
  EXPECT_FALSE(runsThrough(schedule, &transfers));
}

TEST(TransfersTest, RefusesExactlyWhatDoesNotArrive) {
  std::mt19937 random(1);
  int64_t legal = 0, deadlocks = 0;
  forEachSchedule(4, 3, 6, [&](const Schedule &schedule) {
    for (int run = 0; run < 20; ++run) {
      std::vector<Transfer> transfers = planTransfers(schedule);
      bool isLax = random() % 2;
      for (Transfer &transfer : transfers) {
        if (!isLax || random() % 4 == 0)
          transfer.ahead = 1 + random() % 3;
        transfer.behind = 1 + random() % 2;
      }
      std::string text = getText(verifyTransfers(schedule, transfers));
      EXPECT_EQ(text.empty(), runsThrough(schedule, &transfers))
          << text << "\n"
          << printToString(schedule);
      legal += text.empty();
      deadlocks += !text.empty();
    }
  });
  EXPECT_GT(legal, 100);
  EXPECT_GT(deadlocks, 100);
}

} // namespace
