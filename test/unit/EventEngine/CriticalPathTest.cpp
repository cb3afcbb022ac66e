//===- CriticalPathTest.cpp - What the end waits for ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/CriticalPath.h"
#include "RandomQueues.h"
#include <gtest/gtest.h>

using namespace mf::events;

namespace {

std::vector<PathSegment> find(const Queues &queues) {
  llvm::Expected<Timeline> timeline = simulate(queues);
  EXPECT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  return timeline ? findCriticalPath(queues, *timeline)
                  : std::vector<PathSegment>();
}

void expectSteps(llvm::ArrayRef<PathSegment> found,
                 llvm::ArrayRef<PathSegment> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t index = 0; index < found.size(); ++index) {
    EXPECT_EQ(found[index].item, expected[index].item) << index;
    EXPECT_EQ(found[index].start, expected[index].start) << index;
    EXPECT_EQ(found[index].end, expected[index].end) << index;
  }
}

TEST(CriticalPathTest, NothingHasNone) {
  Queues queues;
  EXPECT_TRUE(find(queues).empty());
  queues.addQueue();
  EXPECT_TRUE(find(queues).empty());
}

TEST(CriticalPathTest, ThroughEventsAndRendezvous) {
  Queues queues;
  QueueId first = queues.addQueue(), second = queues.addQueue();
  EventId event = queues.addEvents();
  GroupId group = queues.addGroup(3);
  ItemId before = queues.addWork(first, 2);
  queues.addRecord(first, event);
  queues.addWork(first, 1);
  queues.addRendezvous(second, group);
  queues.addRendezvous(first, group);
  ItemId last = queues.addWork(second, 4);
  // The wait of the third queue is not what it ends after.
  QueueId third = queues.addQueue();
  queues.addWork(third, 1);
  queues.addWait(third, event);
  queues.addWork(third, 1);
  expectSteps(
      find(queues),
      {{before, 0, 2}, {{first, 2}, 2, 3}, {{first, 3}, 3, 6}, {last, 6, 10}});
}

TEST(CriticalPathTest, StaysOnItsQueueIfBothEndAtOnce) {
  Queues queues;
  QueueId first = queues.addQueue(), second = queues.addQueue();
  EventId event = queues.addEvents();
  GroupId group = queues.addGroup(1);
  for (QueueId queue : {first, second})
    queues.addWork(queue, 2);
  queues.addRecord(first, event);
  queues.addWait(second, event);
  queues.addRendezvous(second, group);
  queues.addRendezvous(first, group);
  queues.addWork(second, 1);
  expectSteps(find(queues),
              {{{second, 0}, 0, 2}, {{second, 2}, 2, 3}, {{second, 3}, 3, 4}});
}

TEST(CriticalPathTest, RandomPathsAddUp) {
  std::mt19937 random(13);
  for (int round = 0; round < 2000; ++round) {
    QueuePlan plan = makeRandomPlan(random, round % 100, round % 2 == 0);
    Queues queues = makeQueues(plan, getPlainNumbers(plan));
    llvm::Expected<Timeline> timeline = simulate(queues);
    ASSERT_TRUE(static_cast<bool>(timeline));
    double time = 0;
    for (const PathSegment &step : findCriticalPath(queues, *timeline)) {
      EXPECT_EQ(step.start, time) << round;
      EXPECT_GT(step.end, step.start);
      EXPECT_EQ(step.end, timeline->getEnd(step.item));
      ItemKind kind = queues.getKind(step.item);
      EXPECT_TRUE(kind == ItemKind::Work || kind == ItemKind::Rendezvous);
      // Only what others have of its links makes a step longer.
      double duration = queues.getDuration(step.item);
      if (kind == ItemKind::Work ||
          queues.getLinks(queues.getOperand(step.item)).empty())
        EXPECT_NEAR(step.end - step.start, duration, 1e-9) << round;
      else
        EXPECT_GE(step.end - step.start, duration - 1e-9) << round;
      time = step.end;
    }
    EXPECT_EQ(time, timeline->getEnd()) << round;
  }
}

} // namespace
