//===- QueuesTest.cpp - Queues that do not come to their ends -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/Queues.h"
#include <gtest/gtest.h>

using namespace mf::events;

namespace {

/// The message and the items of the deadlock.
std::pair<std::string, std::vector<ItemId>> getDeadlock(const Queues &queues) {
  llvm::Expected<Timeline> timeline = simulate(queues);
  std::pair<std::string, std::vector<ItemId>> found;
  if (timeline) {
    ADD_FAILURE() << "no deadlock";
    return found;
  }
  llvm::handleAllErrors(timeline.takeError(), [&](const DeadlockError &error) {
    found = {error.message(), error.getItems()};
  });
  return found;
}

TEST(QueuesTest, DeadlockNamesTheItemsOfTheCycle) {
  Queues queues;
  QueueId first = queues.addQueue(), second = queues.addQueue();
  QueueId bystander = queues.addQueue();
  EventId events = queues.addEvents(3);
  queues.addWait(bystander, events + 2);
  queues.addWork(first, 1);
  queues.addWait(first, events);
  queues.addRecord(first, events + 1);
  queues.addWait(second, events + 1);
  queues.addRecord(second, events);
  queues.addRecord(second, events + 2);
  auto [message, items] = getDeadlock(queues);
  EXPECT_EQ(message, "deadlock: item 1 of queue 0 waits for item 1 of queue 1, "
                     "item 0 of queue 1 waits for item 2 of queue 0");
  EXPECT_EQ(items, (std::vector<ItemId>{{0, 1}, {1, 0}}));
}

TEST(QueuesTest, DeadlockOfOneQueue) {
  Queues queues;
  QueueId queue = queues.addQueue();
  queues.addWait(queue, queues.addEvents());
  EXPECT_EQ(getDeadlock(queues).first,
            "item 0 of queue 0 waits for an event that nothing records");

  Queues twice;
  queue = twice.addQueue();
  GroupId group = twice.addGroup(1);
  twice.addRendezvous(queue, group);
  twice.addRendezvous(queue, group);
  EXPECT_EQ(getDeadlock(twice).first,
            "deadlock: item 0 of queue 0 waits for item 1 of queue 0");
}

TEST(QueuesTest, CallersNameItems) {
  Queues queues;
  queues.addWait(queues.addQueue(), queues.addEvents());
  llvm::Expected<Timeline> timeline =
      simulate(queues, [](ItemId) { return std::string("the copy"); });
  EXPECT_EQ(llvm::toString(timeline.takeError()),
            "the copy waits for an event that nothing records");
}

} // namespace
