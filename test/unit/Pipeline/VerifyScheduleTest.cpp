//===- VerifyScheduleTest.cpp - Schedules broken on purpose ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleTesting.h"
#include "mf/Pipeline/ScheduleError.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::schedule;

namespace {

TEST(VerifyScheduleTest, TasksThatAreNot) {
  Schedule schedule = build("1f1b", 2, 1, 2);
  schedule.stages[1][2].microBatch = 2;
  EXPECT_EQ(
      getText(schedule.verify()),
      "task 2 of stage 1 is F2 of chunk 1, expected tasks of phases F, B, "
      "chunks 0 to 1 and micro-batches 0 to 1");
  schedule = build("zero-bubble-v", 2, 2, 4);
  schedule.stages[0][0].phase = Phase::Backward;
  EXPECT_EQ(getText(schedule.verify()),
            "task 0 of stage 0 is B0.0 of chunk 0, expected tasks of phases F, "
            "I, W, chunks 0 to 3 and micro-batches 0 to 3");
  schedule = build("1f1b", 2, 1, 2);
  schedule.stages[0][0].chunk = -1;
  EXPECT_EQ(getText(schedule.verify()),
            "task 0 of stage 0 is F0 of chunk -1, expected tasks of phases F, "
            "B, chunks 0 to 1 and micro-batches 0 to 1");
}

TEST(VerifyScheduleTest, MissingStages) {
  Schedule schedule = build("1f1b", 2, 1, 2);
  schedule.stages.pop_back();
  EXPECT_EQ(getText(schedule.verify()),
            "a schedule of 1 stages for a pipeline of 2");
}

TEST(VerifyScheduleTest, MissingTasks) {
  Schedule schedule = build("1f1b", 2, 1, 2);
  schedule.stages[1].pop_back();
  EXPECT_EQ(getText(schedule.verify()),
            "stage 1 does not run B1 of chunk 1, expected every task once");
}

TEST(VerifyScheduleTest, DoubleTasks) {
  Schedule schedule = build("1f1b", 2, 1, 2);
  schedule.stages[1].push_back(schedule.stages[1][0]);
  EXPECT_EQ(getText(schedule.verify()),
            "task 4 of stage 1 is F0, and so is task 0, expected one");
}

TEST(VerifyScheduleTest, TasksOnAnotherStage) {
  Schedule schedule = build("interleaved", 2, 2, 2);
  schedule.stages[1].push_back(schedule.stages[0].back());
  schedule.stages[0].pop_back();
  EXPECT_EQ(getText(schedule.verify()),
            "task 8 of stage 1 is B0.1 of chunk 0, expected on stage 0, where "
            "that chunk is");
}

TEST(VerifyScheduleTest, BackwardBeforeItsForward) {
  Schedule schedule = build("1f1b", 2, 1, 2);
  std::swap(schedule.stages[1][0], schedule.stages[1][1]);
  EXPECT_EQ(getText(schedule.verify()),
            "B0 of stage 1 (task 0) runs before F0 of stage 1 (task 1), "
            "expected the forward first");
}

TEST(VerifyScheduleTest, PiecesOutOfOrder) {
  Schedule schedule = build("seq1f1b", 1, 1, 2, 2);
  ASSERT_EQ(printToString(schedule),
            "stage 0: F0/0 F0/1 B0/1 F1/0 B0/0 F1/1 B1/1 B1/0\n");
  std::swap(schedule.stages[0][0], schedule.stages[0][1]);
  EXPECT_EQ(getText(schedule.verify()),
            "F0/1 of stage 0 (task 0) runs before F0/0 of stage 0 (task 1), "
            "expected pieces of a sequence in order");
  schedule = build("seq1f1b", 1, 1, 2, 2);
  std::swap(schedule.stages[0][2], schedule.stages[0][4]);
  EXPECT_EQ(getText(schedule.verify()),
            "B0/0 of stage 0 (task 2) runs before B0/1 of stage 0 (task 4), "
            "expected gradients of a sequence from its last piece to its "
            "first");
  schedule = build("seq1f1b", 1, 1, 2, 2);
  schedule.stages[0][0].piece = 2;
  EXPECT_EQ(getText(schedule.verify()),
            "task 0 of stage 0 is F0/2 of chunk 0, expected tasks of phases F, "
            "B, chunks 0 to 0 and micro-batches 0 to 1, each of pieces 0 to 1");
}

TEST(VerifyScheduleTest, WeightGradientBeforeItsInputGradient) {
  Schedule schedule = build("zero-bubble-h1", 1, 1, 1);
  std::swap(schedule.stages[0][1], schedule.stages[0][2]);
  EXPECT_EQ(getText(schedule.verify()),
            "W0 of stage 0 (task 1) runs before I0 of stage 0 (task 2), "
            "expected the input gradient first");
}

TEST(VerifyScheduleTest, GradientsOutOfOrder) {
  Schedule schedule = build("gpipe", 1, 1, 2);
  std::swap(schedule.stages[0][2], schedule.stages[0][3]);
  EXPECT_EQ(getText(schedule.verify()),
            "B1 of stage 0 (task 2) runs before B0 of stage 0 (task 3), "
            "expected gradients of a chunk in ascending order of "
            "micro-batches");
  schedule = build("zero-bubble-h1", 1, 1, 2);
  EXPECT_EQ(printToString(schedule), "stage 0: F0 I0 W0 F1 I1 W1\n");
  std::rotate(schedule.stages[0].begin() + 2, schedule.stages[0].begin() + 3,
              schedule.stages[0].end());
  EXPECT_EQ(getText(schedule.verify()),
            "W1 of stage 0 (task 4) runs before W0 of stage 0 (task 5), "
            "expected gradients of a chunk in ascending order of "
            "micro-batches");
}

TEST(VerifyScheduleTest, Deadlock) {
  // Stage 0 wants a gradient before it goes on, stage 1 all forwards before.
  Schedule schedule = build("gpipe", 2, 1, 2);
  std::swap(schedule.stages[0][1], schedule.stages[0][2]);
  EXPECT_EQ(getText(schedule.verify()),
            "deadlock: B0 of stage 0 (task 1) waits for B0 of stage 1 (task "
            "2), which runs behind F1 of stage 1 (task 1), which waits for F1 "
            "of stage 0 (task 2), which runs behind B0 of stage 0 (task 1)");
}

TEST(VerifyScheduleTest, DeadlockOnOneStage) {
  // A chunk before the one that hands over to it on the same stage.
  Schedule schedule = build("gpipe", 1, 2, 1);
  std::swap(schedule.stages[0][0], schedule.stages[0][1]);
  EXPECT_EQ(
      getText(schedule.verify()),
      "deadlock: F1.0 of stage 0 (task 0) waits for F0.0 of stage 0 (task "
      "1), which runs behind F1.0 of stage 0 (task 0)");
}

TEST(VerifyScheduleTest, DeadlockOverThreeStages) {
  Schedule schedule = build("gpipe", 3, 1, 3);
  std::rotate(schedule.stages[0].begin() + 1, schedule.stages[0].begin() + 3,
              schedule.stages[0].begin() + 4);
  ASSERT_EQ(printToString(schedule), "stage 0: F0 B0 F1 F2 B1 B2\n"
                                     "stage 1: F0 F1 F2 B0 B1 B2\n"
                                     "stage 2: F0 F1 F2 B0 B1 B2\n");
  // The chain of inputs is told by its ends.
  EXPECT_EQ(getText(schedule.verify()),
            "deadlock: F2 of stage 2 (task 2) waits for F2 of stage 0 (task "
            "3), which runs behind B0 of stage 0 (task 1), which waits for B0 "
            "of stage 2 (task 3), which runs behind F2 of stage 2 (task 2)");
}

/// The places of the tasks that an error names: `0:3 1:0`.
std::string getPlaces(llvm::Error error) {
  std::string text;
  llvm::handleAllErrors(std::move(error), [&](const ScheduleError &wrong) {
    for (auto [stage, position] : wrong.getPlaces())
      text += (text.empty() ? "" : " ") + std::to_string(stage) + ":" +
              std::to_string(position);
  });
  return text;
}

TEST(VerifyScheduleTest, PlacesOfTheTasksNamed) {
  Schedule schedule = build("1f1b", 2, 1, 2);
  std::swap(schedule.stages[1][0], schedule.stages[1][1]);
  EXPECT_EQ(getPlaces(schedule.verify()), "1:0 1:1");
  schedule = build("1f1b", 2, 1, 2);
  schedule.stages[1].push_back(schedule.stages[1][0]);
  EXPECT_EQ(getPlaces(schedule.verify()), "1:4 1:0");
  schedule.stages[1][4].microBatch = 2;
  EXPECT_EQ(getPlaces(schedule.verify()), "1:4");
  // Each once, though the first is named again at the end.
  schedule = build("gpipe", 2, 1, 2);
  std::swap(schedule.stages[0][1], schedule.stages[0][2]);
  EXPECT_EQ(getPlaces(schedule.verify()), "0:1 1:2 1:1 0:2");
}

/// Breaks a schedule, or leaves it legal.
void mutate(Schedule &schedule, std::mt19937 &random) {
  auto pick = [&](size_t count) { return random() % count; };
  std::vector<Task> &tasks = schedule.stages[pick(schedule.stages.size())];
  if (tasks.empty())
    return;
  size_t from = pick(tasks.size()), to = pick(tasks.size());
  Task task = tasks[from];
  switch (pick(6)) {
  case 0:
    std::swap(tasks[from], tasks[to]);
    return;
  case 1: // The likeliest to be legal.
    std::swap(tasks[from], tasks[std::min(from + 1, tasks.size() - 1)]);
    return;
  case 2:
    tasks.erase(tasks.begin() + from);
    tasks.insert(tasks.begin() + std::min(to, tasks.size()), task);
    return;
  case 3:
    tasks.erase(tasks.begin() + from);
    return;
  case 4:
    tasks.insert(tasks.begin() + to, task);
    return;
  default: {
    std::vector<Task> &other = schedule.stages[pick(schedule.stages.size())];
    tasks.erase(tasks.begin() + from);
    other.insert(other.begin() + pick(other.size() + 1), task);
    return;
  }
  }
}

TEST(VerifyScheduleTest, RefusesExactlyWhatDoesNotRun) {
  std::mt19937 random(1);
  int64_t legal = 0, deadlocks = 0, others = 0;
  forEachSchedule(4, 2, 6, [&](const Schedule &built) {
    for (int run = 0; run < 150; ++run) {
      Schedule schedule = built;
      schedule.pairs.clear();
      for (size_t count = 1 + random() % 3; count > 0; --count)
        mutate(schedule, random);
      std::string text = getText(schedule.verify());
      EXPECT_EQ(text.empty(), runsThrough(schedule)) << text << "\n"
                                                     << printToString(schedule);
      legal += text.empty();
      bool isDeadlock = llvm::StringRef(text).starts_with("deadlock: ");
      deadlocks += isDeadlock;
      others += !text.empty() && !isDeadlock;
    }
  });
  EXPECT_GT(legal, 300);
  EXPECT_GT(deadlocks, 300);
  EXPECT_GT(others, 300);
}

} // namespace
