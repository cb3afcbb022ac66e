//===- QueuesTest.cpp - Queues in time ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/EventEngine/Queues.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace mf::events;

namespace {

Timeline run(const Queues &queues) {
  llvm::Expected<Timeline> timeline = simulate(queues);
  EXPECT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  return timeline ? std::move(*timeline) : Timeline();
}

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

TEST(QueuesTest, NothingTakesNoTime) {
  Queues queues;
  EXPECT_EQ(run(queues).getEnd(), 0);
  queues.addQueue();
  EXPECT_EQ(run(queues).getEnd(), 0);
}

TEST(QueuesTest, EventsHoldQueues) {
  Queues queues;
  QueueId first = queues.addQueue(), second = queues.addQueue();
  EventId event = queues.addEvents();
  ItemId wait = queues.addWait(first, event);
  ItemId after = queues.addWork(first, 2);
  queues.addWork(second, 5);
  queues.addRecord(second, event);
  queues.addWork(second, 1);
  Timeline timeline = run(queues);
  EXPECT_EQ(timeline.getStart(wait), 0);
  EXPECT_EQ(timeline.getEnd(wait), 5);
  EXPECT_EQ(timeline.getStart(after), 5);
  EXPECT_EQ(timeline.getEnd(first), 7);
  EXPECT_EQ(timeline.getEnd(second), 6);
  EXPECT_EQ(timeline.getEnd(), 7);
}

TEST(QueuesTest, OneEventHoldsManyQueues) {
  Queues queues;
  EventId event = queues.addEvents();
  for (int queue = 0; queue < 5; ++queue)
    queues.addWait(queues.addQueue(), event);
  QueueId last = queues.addQueue();
  queues.addWork(last, 3);
  queues.addRecord(last, event);
  Timeline timeline = run(queues);
  for (QueueId queue = 0; queue < 5; ++queue)
    EXPECT_EQ(timeline.getEnd(queue), 3);
}

TEST(QueuesTest, RendezvousStartsWithTheLastAndEndsForAll) {
  Queues queues;
  GroupId group = queues.addGroup(4);
  std::vector<ItemId> parties;
  for (double before : {1.0, 7.0, 3.0}) {
    QueueId queue = queues.addQueue();
    queues.addWork(queue, before);
    parties.push_back(queues.addRendezvous(queue, group));
    queues.addWork(queue, 1);
  }
  Timeline timeline = run(queues);
  EXPECT_EQ(timeline.getStart(parties[0]), 1);
  for (ItemId party : parties)
    EXPECT_EQ(timeline.getEnd(party), 11);
  EXPECT_EQ(timeline.getEnd(), 12);
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

TEST(QueuesTest, DeadlockOfCrossedRendezvous) {
  Queues queues;
  QueueId first = queues.addQueue(), second = queues.addQueue();
  GroupId one = queues.addGroup(1), two = queues.addGroup(1);
  queues.addRendezvous(first, one);
  queues.addRendezvous(first, two);
  queues.addRendezvous(second, two);
  queues.addRendezvous(second, one);
  auto [message, items] = getDeadlock(queues);
  EXPECT_EQ(message, "deadlock: item 0 of queue 0 waits for item 1 of queue 1, "
                     "item 0 of queue 1 waits for item 1 of queue 0");
  EXPECT_EQ(items.size(), 2u);
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

//===----------------------------------------------------------------------===//
// Random queues against a simulation that only applies the definition
//===----------------------------------------------------------------------===//

/// Ends of all items by going over all queues until nothing changes; nothing if
/// an item does not end.
std::optional<std::vector<std::vector<double>>>
simulateSlowly(const Queues &l) {
  std::vector<std::vector<double>> ends(l.getNumQueues());
  std::vector<std::optional<double>> events(l.getNumEvents());
  auto getTime = [&](QueueId queue) {
    return ends[queue].empty() ? 0 : ends[queue].back();
  };
  auto getNext = [&](QueueId queue) {
    return ItemId{queue, static_cast<int32_t>(ends[queue].size())};
  };
  auto isAtEnd = [&](QueueId queue) {
    return getNext(queue).index == l.getNumItems(queue);
  };
  auto tryGroup = [&](GroupId group) {
    std::vector<QueueId> parties;
    double start = 0;
    for (QueueId queue = 0; queue < l.getNumQueues(); ++queue)
      if (!isAtEnd(queue) &&
          l.getKind(getNext(queue)) == ItemKind::Rendezvous &&
          l.getOperand(getNext(queue)) == group) {
        parties.push_back(queue);
        start = std::max(start, getTime(queue));
      }
    if (static_cast<int32_t>(parties.size()) != l.getGroupSize(group))
      return false;
    double end = start + l.getDuration(getNext(parties[0]));
    for (QueueId queue : parties)
      ends[queue].push_back(end);
    return true;
  };
  auto step = [&](QueueId queue) {
    ItemId item = getNext(queue);
    double time = getTime(queue);
    switch (l.getKind(item)) {
    case ItemKind::Work:
      ends[queue].push_back(time + l.getDuration(item));
      return true;
    case ItemKind::Record:
      events[l.getOperand(item)] = time;
      ends[queue].push_back(time);
      return true;
    case ItemKind::Wait:
      if (!events[l.getOperand(item)])
        return false;
      ends[queue].push_back(std::max(time, *events[l.getOperand(item)]));
      return true;
    case ItemKind::Rendezvous:
      return tryGroup(l.getOperand(item));
    }
    return false;
  };
  for (bool changes = true; changes;) {
    changes = false;
    for (QueueId queue = 0; queue < l.getNumQueues(); ++queue)
      while (!isAtEnd(queue) && step(queue))
        changes = true;
  }
  for (QueueId queue = 0; queue < l.getNumQueues(); ++queue)
    if (!isAtEnd(queue))
      return std::nullopt;
  return ends;
}

/// A few queues of items in random order: events and groups are in the order of
/// one history, or of another if `shuffles`, so that some deadlock.
Queues makeRandomQueues(std::mt19937 &random, bool shuffles) {
  auto draw = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  Queues queues;
  int numQueues = draw(1, 6);
  struct Action {
    QueueId queue;
    ItemKind kind;
    int32_t operand;
  };
  std::vector<Action> history;
  for (int queue = 0; queue < numQueues; ++queue)
    queues.addQueue();
  for (int step = draw(0, 30); step > 0; --step) {
    QueueId queue = draw(0, numQueues - 1);
    switch (draw(0, 2)) {
    case 0:
      history.push_back({queue, ItemKind::Work, draw(0, 9)});
      break;
    case 1: {
      EventId event = queues.addEvents();
      history.push_back({queue, ItemKind::Record, event});
      for (int waits = draw(0, 3); waits > 0; --waits)
        history.push_back({draw(0, numQueues - 1), ItemKind::Wait, event});
      break;
    }
    default: {
      GroupId group = queues.addGroup(draw(0, 5));
      for (QueueId party = queue; party < numQueues; ++party)
        history.push_back({party, ItemKind::Rendezvous, group});
    }
    }
  }
  for (int swaps = shuffles ? draw(0, 6) : 0; swaps > 0 && !history.empty();
       --swaps)
    std::swap(history[draw(0, history.size() - 1)],
              history[draw(0, history.size() - 1)]);
  for (const Action &action : history) {
    if (action.kind == ItemKind::Work)
      queues.addWork(action.queue, action.operand);
    else if (action.kind == ItemKind::Record)
      queues.addRecord(action.queue, action.operand);
    else if (action.kind == ItemKind::Wait)
      queues.addWait(action.queue, action.operand);
    else
      queues.addRendezvous(action.queue, action.operand);
  }
  return queues;
}

/// Nobody in the cycle can go on: each member's queue waits in an item that is
/// not work, and so on.
void expectCycle(const Queues &queues, llvm::ArrayRef<ItemId> items) {
  ASSERT_FALSE(items.empty());
  for (ItemId item : items) {
    EXPECT_NE(queues.getKind(item), ItemKind::Work);
    EXPECT_NE(queues.getKind(item), ItemKind::Record);
    EXPECT_EQ(std::count(items.begin(), items.end(), item), 1);
  }
}

TEST(QueuesTest, RandomQueuesAsByDefinition) {
  std::mt19937 random(7);
  int deadlocks = 0;
  for (int round = 0; round < 4000; ++round) {
    Queues queues = makeRandomQueues(random, round % 2 != 0);
    auto expected = simulateSlowly(queues);
    llvm::Expected<Timeline> found = simulate(queues);
    ASSERT_EQ(static_cast<bool>(found), expected.has_value()) << round;
    if (found) {
      for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
        for (int32_t index = 0; index < queues.getNumItems(queue); ++index)
          EXPECT_EQ(found->getEnd(ItemId{queue, index}),
                    (*expected)[queue][index])
              << round;
      continue;
    }
    ++deadlocks;
    EXPECT_EQ(round % 2, 1) << "an order that comes from a history runs";
    llvm::handleAllErrors(found.takeError(), [&](const DeadlockError &error) {
      expectCycle(queues, error.getItems());
    });
  }
  EXPECT_GT(deadlocks, 200);
}

} // namespace
