//===- VerifyScheduleTest.cpp - Schedules broken on purpose ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleTesting.h"
#include "mf/Pipeline/ScheduleError.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::schedule;

namespace {

using Stages = std::vector<std::vector<Task>>;

/// A schedule, what breaks it, and what verify() says then.
struct BrokenSchedule {
  Schedule schedule;
  void (*change)(Stages &);
  const char *message;
};

TEST(VerifyScheduleTest, ErrorsNameTheTasks) {
  const Schedule two = build("1f1b", 2, 1, 2);
  const Schedule pieces = build("seq1f1b", 1, 1, 2, 2);
  ASSERT_EQ(printToString(pieces),
            "stage 0: F0/0 F0/1 B0/1 F1/0 B0/0 F1/1 B1/1 B1/0\n");
  const Schedule split = build("zero-bubble-h1", 1, 1, 2);
  ASSERT_EQ(printToString(split), "stage 0: F0 I0 W0 F1 I1 W1\n");
  const BrokenSchedule cases[] = {
      {two, [](Stages &s) { s[1][2].microBatch = 2; },
       "task 2 of stage 1 is F2 of chunk 1, expected tasks of phases F, B, "
       "chunks 0 to 1 and micro-batches 0 to 1"},
      {two, [](Stages &s) { s[0][0].chunk = -1; },
       "task 0 of stage 0 is F0 of chunk -1, expected tasks of phases F, B, "
       "chunks 0 to 1 and micro-batches 0 to 1"},
      {build("zero-bubble-v", 2, 2, 4),
       [](Stages &s) { s[0][0].phase = Phase::Backward; },
       "task 0 of stage 0 is B0.0 of chunk 0, expected tasks of phases F, I, "
       "W, chunks 0 to 3 and micro-batches 0 to 3"},
      {pieces, [](Stages &s) { s[0][0].piece = 2; },
       "task 0 of stage 0 is F0/2 of chunk 0, expected tasks of phases F, B, "
       "chunks 0 to 0 and micro-batches 0 to 1, each of pieces 0 to 1"},
      {two, [](Stages &s) { s.pop_back(); },
       "a schedule of 1 stages for a pipeline of 2"},
      {two, [](Stages &s) { s[1].pop_back(); },
       "stage 1 does not run B1 of chunk 1, expected every task once"},
      {two, [](Stages &s) { s[1].push_back(s[1][0]); },
       "task 4 of stage 1 is F0, and so is task 0, expected one"},
      {build("interleaved", 2, 2, 2),
       [](Stages &s) {
         s[1].push_back(s[0].back());
         s[0].pop_back();
       },
       "task 8 of stage 1 is B0.1 of chunk 0, expected on stage 0, where that "
       "chunk is"},
      {two, [](Stages &s) { std::swap(s[1][0], s[1][1]); },
       "B0 of stage 1 (task 0) runs before F0 of stage 1 (task 1), expected "
       "the forward first"},
      {pieces, [](Stages &s) { std::swap(s[0][0], s[0][1]); },
       "F0/1 of stage 0 (task 0) runs before F0/0 of stage 0 (task 1), "
       "expected pieces of a sequence in order"},
      {pieces, [](Stages &s) { std::swap(s[0][2], s[0][4]); },
       "B0/0 of stage 0 (task 2) runs before B0/1 of stage 0 (task 4), "
       "expected gradients of a sequence from its last piece to its first"},
      {split, [](Stages &s) { std::swap(s[0][1], s[0][2]); },
       "W0 of stage 0 (task 1) runs before I0 of stage 0 (task 2), expected "
       "the input gradient first"},
      {split,
       [](Stages &s) {
         std::rotate(s[0].begin() + 2, s[0].begin() + 3, s[0].end());
       },
       "W1 of stage 0 (task 4) runs before W0 of stage 0 (task 5), expected "
       "gradients of a chunk in ascending order of micro-batches"},
      // Stage 0 wants a gradient before it goes on, stage 1 all forwards
      // before.
      {build("gpipe", 2, 1, 2), [](Stages &s) { std::swap(s[0][1], s[0][2]); },
       "deadlock: B0 of stage 0 (task 1) waits for B0 of stage 1 (task 2), "
       "which runs behind F1 of stage 1 (task 1), which waits for F1 of stage "
       "0 (task 2), which runs behind B0 of stage 0 (task 1)"},
      // A chunk before the one that hands over to it on the same stage.
      {build("gpipe", 1, 2, 1), [](Stages &s) { std::swap(s[0][0], s[0][1]); },
       "deadlock: F1.0 of stage 0 (task 0) waits for F0.0 of stage 0 (task 1), "
       "which runs behind F1.0 of stage 0 (task 0)"},
      // B0 before F1 on stage 0: the chain of inputs is told by its ends.
      {build("gpipe", 3, 1, 3),
       [](Stages &s) {
         std::rotate(s[0].begin() + 1, s[0].begin() + 3, s[0].begin() + 4);
       },
       "deadlock: F2 of stage 2 (task 2) waits for F2 of stage 0 (task 3), "
       "which runs behind B0 of stage 0 (task 1), which waits for B0 of stage "
       "2 (task 3), which runs behind F2 of stage 2 (task 2)"},
  };
  for (const BrokenSchedule &each : cases) {
    Schedule schedule = each.schedule;
    each.change(schedule.stages);
    EXPECT_EQ(getText(schedule.verify()), each.message);
  }
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
