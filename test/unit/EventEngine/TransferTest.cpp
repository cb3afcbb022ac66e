//===- TransferTest.cpp - Transfers that share links ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RandomQueues.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <optional>

using namespace mf::events;

namespace {

Timeline run(const Queues &queues) {
  llvm::Expected<Timeline> timeline = simulate(queues);
  EXPECT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  return timeline ? std::move(*timeline) : Timeline();
}

/// A queue that starts a transfer at a time.
struct Sender {
  double start, latency, seconds;
  std::vector<LinkId> links;
};

/// When the transfers of queues of their own end.
std::vector<double> getEnds(llvm::ArrayRef<Sender> senders) {
  Queues queues;
  for (int link = 0; link < 4; ++link)
    queues.addLink();
  for (const Sender &sender : senders) {
    QueueId queue = queues.addQueue();
    queues.addWork(queue, sender.start);
    queues.addRendezvous(
        queue,
        queues.addTransfer(sender.latency, sender.seconds, sender.links));
  }
  Timeline timeline = run(queues);
  std::vector<double> ends;
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    ends.push_back(timeline.getEnd(queue));
  return ends;
}

using Ends = std::vector<double>;

TEST(TransferTest, AloneAsLongAsARendezvous) {
  EXPECT_EQ(getEnds({{1, 2, 4, {0}}}), Ends({7}));
  EXPECT_EQ(getEnds({{1, 2, 4, {}}}), Ends({7}));
  EXPECT_EQ(getEnds({{1, 2, 4, {0, 1, 0}}, {1, 2, 4, {2, 3}}}), Ends({7, 7}));
  // One after the other.
  EXPECT_EQ(getEnds({{0, 0, 4, {0}}, {4, 0, 4, {0}}}), Ends({4, 8}));
}

TEST(TransferTest, EqualShares) {
  EXPECT_EQ(getEnds({{0, 0, 4, {0}}, {0, 0, 4, {0}}}), Ends({8, 8}));
  // Half of the first is left when the second comes, that takes 4 for 2; the
  // second then has the link for itself.
  EXPECT_EQ(getEnds({{0, 0, 4, {0}}, {2, 0, 4, {0}}}), Ends({6, 8}));
  // Latency does not use the link.
  EXPECT_EQ(getEnds({{0, 4, 4, {0}}, {0, 0, 4, {0}}}), Ends({8, 4}));
}

TEST(TransferTest, TheSmallestShareCounts) {
  // The first has half of link 0 and a third of link 1.
  EXPECT_EQ(
      getEnds(
          {{0, 0, 2, {0, 1}}, {0, 0, 3, {0}}, {0, 0, 2, {1}}, {0, 0, 2, {1}}}),
      Ends({6, 6, 6, 6}));
}

TEST(TransferTest, WhatMovesNothingIsInNobodysWay) {
  EXPECT_EQ(getEnds({{0, 0, 4, {0}}, {2, 1, 0, {0}}}), Ends({4, 3}));
}

TEST(TransferTest, WorkAndTransfersSlowEachOther) {
  Queues queues;
  const LinkId device = queues.addDevice(), link = queues.addLink();
  const QueueId compute = queues.addQueue(), exchange = queues.addQueue();
  // Half of the speed from 1 on, also during the latency.
  const ItemId first = queues.addWork(compute, 3, device);
  const ItemId second = queues.addWork(compute, 4, device);
  queues.addWork(exchange, 1);
  // Moves at three quarters of its speed beside work, from 3 to 11.
  const ItemId moved = queues.addRendezvous(
      exchange, queues.addTransfer(2, 6, {link, device}, {0.5, 0.75}));
  const Timeline timeline = run(queues);
  EXPECT_EQ(timeline.getEnd(first), 5);
  // 4 of work: 3 until the transfer ends at 11, and one alone.
  EXPECT_EQ(timeline.getEnd(moved), 11);
  EXPECT_EQ(timeline.getEnd(second), 12);
}

TEST(TransferTest, ATransferMayStopWork) {
  Queues queues;
  const LinkId device = queues.addDevice();
  const ItemId work = queues.addWork(queues.addQueue(), 3, device);
  queues.addRendezvous(queues.addQueue(),
                       queues.addTransfer(1, 6, device, {0, 1}));
  EXPECT_EQ(run(queues).getEnd(work), 10);
}

TEST(TransferTest, StartsWithTheLastParty) {
  Queues queues;
  LinkId link = queues.addLink();
  GroupId one = queues.addTransfer(1, 4, link);
  GroupId other = queues.addTransfer(0, 4, link);
  QueueId first = queues.addQueue(), second = queues.addQueue();
  ItemId early = queues.addRendezvous(first, one);
  queues.addWork(second, 5);
  ItemId late = queues.addRendezvous(second, one);
  ItemId alone = queues.addRendezvous(queues.addQueue(), other);
  Timeline timeline = run(queues);
  EXPECT_EQ(timeline.getStart(early), 0);
  EXPECT_EQ(timeline.getStart(late), 5);
  EXPECT_EQ(timeline.getEnd(early), 10);
  EXPECT_EQ(timeline.getEnd(late), 10);
  EXPECT_EQ(timeline.getEnd(alone), 4);
  EXPECT_EQ(queues.getDuration(early), 5);
}

TEST(TransferTest, TicksRound) {
  Queues queues(0.25);
  LinkId link = queues.addLink();
  for (int queue = 0; queue < 3; ++queue)
    queues.addRendezvous(queues.addQueue(), queues.addTransfer(0.3, 0.3, link));
  QueueId queue = queues.addQueue();
  queues.addWork(queue, 0.4);
  Timeline timeline = run(queues);
  for (QueueId party = 0; party < 3; ++party)
    EXPECT_EQ(timeline.getEnd(party), 0.25 + 3 * 0.25);
  EXPECT_EQ(timeline.getEnd(queue), 0.5);
}

TEST(TransferTest, DeadlockWhileTransfersAreUnderWay) {
  Queues queues;
  LinkId link = queues.addLink();
  for (int queue = 0; queue < 2; ++queue)
    queues.addRendezvous(queues.addQueue(), queues.addTransfer(0, 4, link));
  EventId event = queues.addEvents();
  queues.addWait(1, event);
  EXPECT_EQ(llvm::toString(simulate(queues).takeError()),
            "item 1 of queue 1 waits for an event that nothing records");
}

//===----------------------------------------------------------------------===//
// Random queues against a simulation that goes from time to time
//===----------------------------------------------------------------------===//

/// Everything in the order of time, what moves a bit at a time.
class SlowSimulation {
public:
  explicit SlowSimulation(const QueuePlan &given)
      : plan(given), times(plan.numQueues, 0), positions(plan.numQueues, 0),
        events(plan.numEvents), items(plan.numQueues) {
    firstWork = plan.groups.size();
    for (QueuePlan::Action &action : plan.history)
      if (action.kind == ItemKind::Work && action.device >= 0) {
        action.kind = ItemKind::Rendezvous;
        action.operand = static_cast<int32_t>(plan.groups.size());
        plan.groups.push_back({0, action.duration, {action.device}, {}});
      }
    groups.resize(plan.groups.size());
    for (const QueuePlan::Action &action : plan.history) {
      items[action.queue].push_back(action);
      if (action.kind == ItemKind::Rendezvous)
        ++groups[action.operand].missing;
    }
    ends.resize(plan.numQueues);
  }

  std::vector<std::vector<double>> run() {
    while (goOn() || moveOn()) {
    }
    return ends;
  }

private:
  struct Group {
    int missing = 0;
    double start = 0, left = 0;
    std::vector<int32_t> waiting;
    bool isWaiting = false, moves = false, usesDevices = false;
  };

  void finish(int32_t queue, double time) {
    times[queue] = time;
    ends[queue].push_back(time);
    ++positions[queue];
  }
  bool goOn() {
    bool changes = false;
    for (int32_t queue = 0; queue < plan.numQueues; ++queue)
      while (step(queue))
        changes = true;
    return changes;
  }
  bool step(int32_t queue) {
    if (positions[queue] == items[queue].size())
      return false;
    const QueuePlan::Action &action = items[queue][positions[queue]];
    double time = times[queue];
    if (action.kind == ItemKind::Work) {
      finish(queue, time + action.duration);
      return true;
    }
    if (action.kind == ItemKind::Record) {
      events[action.operand] = time;
      finish(queue, time);
      return true;
    }
    if (action.kind == ItemKind::Wait) {
      if (!events[action.operand])
        return false;
      finish(queue, std::max(time, *events[action.operand]));
      return true;
    }
    Group &group = groups[action.operand];
    if (std::count(group.waiting.begin(), group.waiting.end(), queue))
      return false;
    group.waiting.push_back(queue);
    group.start = std::max(group.start, time);
    if (--group.missing == 0) {
      group.isWaiting = true;
    }
    return true;
  }
  static bool uses(const QueuePlan::Group &group, int32_t link) {
    return std::count(group.links.begin(), group.links.end(), link) > 0;
  }
  double getSpeed(size_t index, int32_t device) const {
    double speed = 1;
    for (size_t other = 0; other < groups.size(); ++other)
      if (groups[other].usesDevices && uses(plan.groups[other], device) &&
          (index >= firstWork) != (other >= firstWork))
        speed = std::min(speed, index >= firstWork
                                    ? plan.groups[other].speeds.ofWork
                                    : plan.groups[index].speeds.ofTransfer);
    return speed;
  }
  double getShare(size_t index) const {
    int most = 1;
    double speed = 1;
    for (int32_t link : plan.groups[index].links) {
      if (plan.isDevice(link)) {
        speed = std::min(speed, getSpeed(index, link));
        continue;
      }
      int users = 0;
      for (size_t other = 0; other < groups.size(); ++other)
        users += groups[other].moves && uses(plan.groups[other], link);
      most = std::max(most, users);
    }
    return speed / most;
  }
  double getMove(size_t index) const {
    return groups[index].start + plan.groups[index].latency;
  }
  /// To the next start or end.
  bool moveOn() {
    double next = std::numeric_limits<double>::infinity();
    std::vector<double> shares(groups.size());
    for (size_t index = 0; index < groups.size(); ++index) {
      shares[index] = getShare(index);
      if (groups[index].isWaiting)
        next = std::min(next, groups[index].usesDevices ? getMove(index)
                                                        : groups[index].start);
      if (groups[index].moves)
        next = std::min(next, now + groups[index].left / shares[index]);
    }
    if (!std::isfinite(next))
      return false;
    for (size_t index = 0; index < groups.size(); ++index) {
      Group &group = groups[index];
      if (group.moves) {
        group.left -= (next - now) * shares[index];
        if (group.left < 1e-10) {
          group.moves = group.usesDevices = false;
          for (int32_t queue : group.waiting)
            finish(queue, next);
        }
        continue;
      }
      if (group.isWaiting && group.start == next)
        group.usesDevices = true;
      if (group.isWaiting && getMove(index) == next) {
        group.isWaiting = false;
        group.moves = true;
        group.left = plan.groups[index].seconds;
      }
    }
    now = next;
    return true;
  }

  QueuePlan plan;
  /// Work on devices are groups behind those of the plan.
  size_t firstWork = 0;
  double now = 0;
  std::vector<double> times;
  std::vector<size_t> positions;
  std::vector<std::optional<double>> events;
  std::vector<Group> groups;
  std::vector<std::vector<QueuePlan::Action>> items;
  std::vector<std::vector<double>> ends;
};

TEST(TransferTest, RandomQueuesAsByDefinition) {
  std::mt19937 random(11);
  int shared = 0;
  for (int round = 0; round < 1500; ++round) {
    QueuePlan plan = makeRandomPlan(random, round % 60, round % 2 == 0);
    Queues queues = makeQueues(plan, getPlainNumbers(plan));
    Timeline found = run(queues);
    auto expected = SlowSimulation(plan).run();
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
      ASSERT_EQ(queues.getNumItems(queue), expected[queue].size()) << round;
      for (int32_t index = 0; index < queues.getNumItems(queue); ++index) {
        ItemId item{queue, index};
        ASSERT_NEAR(found.getEnd(item), expected[queue][index], 1e-8) << round;
        shared += queues.getKind(item) == ItemKind::Rendezvous &&
                  found.getEnd(item) - found.getStart(item) >
                      queues.getDuration(item) + 1e-6;
      }
    }
  }
  EXPECT_GT(shared, 2000);
}

TEST(TransferTest, NumbersDoNotMatter) {
  std::mt19937 random(12);
  for (int round = 0; round < 1500; ++round) {
    QueuePlan plan = makeRandomPlan(random, round % 100, round % 2 == 0);
    double tick = round % 3 == 0 ? 0x1p-20 : 0;
    Queues queues = makeQueues(plan, getPlainNumbers(plan), tick);
    Timeline expected = run(queues);
    for (int time = 0; time < 3; ++time) {
      Numbers numbers = getRandomNumbers(plan, random);
      Timeline found = run(makeQueues(plan, numbers, tick));
      for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
        for (int32_t index = 0; index < queues.getNumItems(queue); ++index)
          ASSERT_EQ(found.getEnd(ItemId{numbers.queues[queue], index}),
                    expected.getEnd(ItemId{queue, index}))
              << round;
    }
  }
}

} // namespace
