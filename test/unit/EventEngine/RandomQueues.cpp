//===- RandomQueues.cpp - Queues for property tests -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RandomQueues.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

using namespace mf::events;

namespace {

class QueueDrawer {
public:
  QueueDrawer(std::mt19937 &random, bool isWhole)
      : random(random), isWhole(isWhole) {}

  int draw(int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  }
  double drawDuration(int most) {
    if (isWhole)
      return draw(0, most);
    return std::uniform_real_distribution<double>(0, most)(random);
  }
  /// Some of the numbers up to `count`.
  std::vector<int32_t> drawSome(int32_t count) {
    std::vector<int32_t> some;
    for (int32_t number = 0; number < count; ++number)
      if (draw(0, 2) == 0)
        some.push_back(number);
    return some;
  }

private:
  std::mt19937 &random;
  bool isWhole;
};

std::vector<int32_t> count(int32_t size) {
  std::vector<int32_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// `inverse[numbers[i]] == i`.
std::vector<int32_t> invert(const std::vector<int32_t> &numbers) {
  std::vector<int32_t> inverse(numbers.size());
  for (size_t index = 0; index < numbers.size(); ++index)
    inverse[numbers[index]] = static_cast<int32_t>(index);
  return inverse;
}

} // namespace

QueuePlan makeRandomPlan(std::mt19937 &random, int steps, bool isWhole) {
  QueueDrawer drawer(random, isWhole);
  QueuePlan plan;
  plan.numQueues = drawer.draw(1, 7);
  plan.numLinks = drawer.draw(0, 4);
  plan.numDevices = drawer.draw(0, std::min(plan.numLinks, 2));
  for (int step = 0; step < steps; ++step) {
    int32_t queue = drawer.draw(0, plan.numQueues - 1);
    switch (drawer.draw(0, 3)) {
    case 0:
      plan.history.push_back(
          {queue, ItemKind::Work, 0, drawer.drawDuration(9)});
      if (plan.numDevices > 0 && drawer.draw(0, 1) == 0)
        plan.history.back().device =
            plan.numLinks - drawer.draw(1, plan.numDevices);
      break;
    case 1: {
      int32_t event = plan.numEvents++;
      plan.history.push_back({queue, ItemKind::Record, event, 0});
      for (int waits = drawer.draw(0, 3); waits > 0; --waits)
        plan.history.push_back(
            {drawer.draw(0, plan.numQueues - 1), ItemKind::Wait, event, 0});
      break;
    }
    default: {
      auto group = static_cast<int32_t>(plan.groups.size());
      plan.groups.push_back(
          {drawer.drawDuration(2),
           drawer.drawDuration(9),
           drawer.drawSome(plan.numLinks),
           {drawer.draw(1, 4) / 4.0, drawer.draw(1, 4) / 4.0}});
      std::vector<int32_t> parties = drawer.drawSome(plan.numQueues);
      if (parties.empty())
        parties.push_back(queue);
      for (int32_t party : parties)
        plan.history.push_back({party, ItemKind::Rendezvous, group, 0});
    }
    }
  }
  return plan;
}

Numbers getPlainNumbers(const QueuePlan &plan) {
  return {count(plan.numQueues), count(plan.numEvents),
          count(static_cast<int32_t>(plan.groups.size())),
          count(plan.numLinks)};
}

Numbers getRandomNumbers(const QueuePlan &plan, std::mt19937 &random) {
  Numbers numbers = getPlainNumbers(plan);
  for (std::vector<int32_t> *list :
       {&numbers.queues, &numbers.events, &numbers.groups, &numbers.links})
    std::shuffle(list->begin(), list->end(), random);
  return numbers;
}

Queues makeQueues(const QueuePlan &plan, const Numbers &numbers, double tick) {
  Queues queues(tick);
  for (int32_t queue = 0; queue < plan.numQueues; ++queue)
    queues.addQueue();
  queues.addEvents(plan.numEvents);
  for (int32_t link : invert(numbers.links))
    plan.isDevice(link) ? queues.addDevice() : queues.addLink();
  for (int32_t group : invert(numbers.groups)) {
    const QueuePlan::Group &costs = plan.groups[group];
    std::vector<LinkId> links;
    for (int32_t link : costs.links)
      links.push_back(numbers.links[link]);
    if (links.empty())
      queues.addGroup(costs.latency + costs.seconds);
    else
      queues.addTransfer(costs.latency, costs.seconds, links, costs.speeds);
  }
  for (const QueuePlan::Action &action : plan.history) {
    QueueId queue = numbers.queues[action.queue];
    if (action.isMark) {
      queues.markPeriod(queue);
      continue;
    }
    switch (action.kind) {
    case ItemKind::Work:
      if (action.device < 0)
        queues.addWork(queue, action.duration);
      else
        queues.addWork(queue, action.duration, numbers.links[action.device]);
      break;
    case ItemKind::Wait:
      queues.addWait(queue, numbers.events[action.operand]);
      break;
    case ItemKind::Record:
      queues.addRecord(queue, numbers.events[action.operand]);
      break;
    case ItemKind::Rendezvous:
      queues.addRendezvous(queue, numbers.groups[action.operand]);
      break;
    }
  }
  return queues;
}

QueuePlan getUnmarked(QueuePlan plan) {
  llvm::erase_if(plan.history,
                 [](const QueuePlan::Action &action) { return action.isMark; });
  return plan;
}
