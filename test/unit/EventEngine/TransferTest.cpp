//===- TransferTest.cpp - Queues in time, and links that they share -------===//
// SPDX-License-Identifier: Apache-2.0

#include "RandomQueues.h"
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

TEST(TransferTest, ATransferMayStopWork) {
  Queues queues;
  const LinkId device = queues.addDevice();
  const ItemId work = queues.addWork(queues.addQueue(), 3, device);
  queues.addRendezvous(queues.addQueue(),
                       queues.addTransfer(1, 6, device, {0, 1}));
  EXPECT_EQ(run(queues).getEnd(work), 10);
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

/// All ends by definition: an item starts where the one before it ends.
void expectEnds(const QueuePlan &plan, const Queues &queues,
                const Timeline &found,
                const std::vector<std::vector<double>> &expected) {
  double last = 0;
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
    ASSERT_EQ(queues.getNumItems(queue), expected[queue].size());
    double before = 0;
    for (int32_t index = 0; index < queues.getNumItems(queue); ++index) {
      const ItemId item{queue, index};
      ASSERT_EQ(found.getStart(item), before);
      ASSERT_NEAR(found.getEnd(item), expected[queue][index], 1e-8);
      before = found.getEnd(item);
      const size_t group = queues.getOperand(item);
      // Work on a device is a group behind those of the plan.
      if (queues.getKind(item) == ItemKind::Rendezvous &&
          group < plan.groups.size())
        ASSERT_EQ(queues.getDuration(item),
                  plan.groups[group].latency + plan.groups[group].seconds);
    }
    EXPECT_EQ(found.getEnd(queue), before);
    last = std::max(last, before);
  }
  EXPECT_EQ(found.getEnd(), last);
}

/// Nobody in the cycle can go on: each waits in an item that is not work.
void expectCycle(const Queues &queues, llvm::ArrayRef<ItemId> items) {
  ASSERT_FALSE(items.empty());
  for (ItemId item : items) {
    EXPECT_NE(queues.getKind(item), ItemKind::Work);
    EXPECT_NE(queues.getKind(item), ItemKind::Record);
    EXPECT_EQ(std::count(items.begin(), items.end(), item), 1);
  }
}

int countShared(const Queues &queues, const Timeline &found) {
  int shared = 0;
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    for (int32_t index = 0; index < queues.getNumItems(queue); ++index)
      shared += queues.getKind({queue, index}) == ItemKind::Rendezvous &&
                found.getEnd({queue, index}) - found.getStart({queue, index}) >
                    queues.getDuration({queue, index}) + 1e-6;
  return shared;
}

TEST(TransferTest, RandomQueuesAsByDefinition) {
  std::mt19937 random(11);
  int shared = 0, deadlocks = 0;
  for (int round = 0; round < 4000; ++round) {
    SCOPED_TRACE(round);
    QueuePlan plan = makeRandomPlan(random, round % 60, round % 2 == 0);
    const bool isShuffled = round % 4 == 3;
    for (size_t swaps = 0; isShuffled && swaps < plan.history.size() / 8;
         ++swaps)
      std::swap(plan.history[random() % plan.history.size()],
                plan.history[random() % plan.history.size()]);
    const Queues queues = makeQueues(plan, getPlainNumbers(plan));
    const auto expected = SlowSimulation(plan).run();
    bool ends = true;
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
      ends &= static_cast<size_t>(queues.getNumItems(queue)) ==
              expected[queue].size();
    llvm::Expected<Timeline> found = simulate(queues);
    ASSERT_EQ(static_cast<bool>(found), ends);
    if (found) {
      expectEnds(plan, queues, *found, expected);
      shared += countShared(queues, *found);
      continue;
    }
    ++deadlocks;
    EXPECT_TRUE(isShuffled) << "an order that comes from a history runs";
    llvm::handleAllErrors(found.takeError(), [&](const DeadlockError &error) {
      expectCycle(queues, error.getItems());
    });
  }
  EXPECT_GT(shared, 2000);
  EXPECT_GT(deadlocks, 200);
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
