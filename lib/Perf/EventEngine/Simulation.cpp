//===- Simulation.cpp - Queues in time ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Simulation.h"
#include "SteadyState.h"
#include "mf/Perf/EventEngine/Queues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <limits>
#include <optional>

using llvm::Twine;

namespace mf::events {

namespace {

/// Finds what each stuck queue waits for.
class WaitsFor {
public:
  WaitsFor(const Queues &queues, llvm::ArrayRef<int32_t> positions)
      : queues(queues), positions(positions),
        recordOfEvent(queues.getNumEvents()),
        missingOfGroup(queues.getNumGroups()) {
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
      for (int32_t index = positions[queue]; index < queues.getNumItems(queue);
           ++index) {
        ItemId item{queue, index};
        ItemKind kind = queues.getKind(item);
        if (kind == ItemKind::Record)
          recordOfEvent[queues.getOperand(item)] = item;
        else if (kind == ItemKind::Rendezvous && index > positions[queue])
          missingOfGroup[queues.getOperand(item)] = item;
      }
    }
  }

  bool stands(QueueId queue) const {
    return positions[queue] < queues.getNumItems(queue);
  }

  ItemId getItem(QueueId queue) const { return {queue, positions[queue]}; }
  /// Returns the item for which the queue's item waits, which is further back
  /// in that queue; none if nothing records the event.
  std::optional<ItemId> getAwaited(QueueId queue) const {
    ItemId item = getItem(queue);
    int32_t operand = queues.getOperand(item);
    return queues.getKind(item) == ItemKind::Wait ? recordOfEvent[operand]
                                                  : missingOfGroup[operand];
  }

private:
  const Queues &queues;
  llvm::ArrayRef<int32_t> positions;
  /// For each event and group, an item that has not been reached and records
  /// the event or joins the group.
  std::vector<std::optional<ItemId>> recordOfEvent, missingOfGroup;
};

std::string getNumberedName(ItemId item) {
  return ("item " + Twine(item.index) + " of queue " + Twine(item.queue)).str();
}

} // namespace

/// Returns the error for queues that are stuck at `positions`. At least one of
/// them must be before its end.
static llvm::Error
explainDeadlock(const Queues &queues, llvm::ArrayRef<int32_t> positions,
                llvm::function_ref<std::string(ItemId)> getName) {
  if (!getName)
    getName = getNumberedName;
  WaitsFor waits(queues, positions);
  QueueId queue = 0;
  while (!waits.stands(queue))
    ++queue;

  // Every stuck queue waits for another stuck queue, so following them leads
  // back to one already visited, unless an event is never recorded.
  std::vector<QueueId> path;
  while (!llvm::is_contained(path, queue)) {
    path.push_back(queue);
    std::optional<ItemId> awaited = waits.getAwaited(queue);
    if (!awaited) {
      ItemId item = waits.getItem(queue);
      return llvm::make_error<DeadlockError>(
          std::vector<ItemId>{item},
          getName(item) + " waits for an event that nothing records");
    }
    queue = awaited->queue;
  }
  path.erase(path.begin(), llvm::find(path, queue));

  std::string message = "deadlock: ";
  std::vector<ItemId> items;
  for (QueueId member : path) {
    ItemId item = waits.getItem(member);
    if (!items.empty())
      message += ", ";
    message +=
        getName(item) + " waits for " + getName(*waits.getAwaited(member));
    items.push_back(item);
  }
  return llvm::make_error<DeadlockError>(std::move(items), std::move(message));
}

Simulation::Simulation(const Queues &queues)
    : queues(queues), links(queues), events(queues.getNumEvents()),
      groups(queues.getNumGroups()), positions(queues.getNumQueues(), 0),
      clocks(queues.getNumQueues(), 0), limits(queues.getNumQueues(), 0),
      nextWaiting(queues.getNumQueues(), none),
      numSkipped(queues.getNumQueues(), 0) {
  for (GroupId group = 0; group < queues.getNumGroups(); ++group)
    groups[group].missing = queues.getGroupSize(group);
  for (QueueId queue = queues.getNumQueues() - 1; queue >= 0; --queue)
    stopped.push_back(queue);
  timeline.queues.resize(queues.getNumQueues());
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
    timeline.queues[queue].size = queues.getNumItems(queue);
    timeline.queues[queue].ends.resize_for_overwrite(queues.getNumItems(queue));
  }
}

void Simulation::run() {
  std::vector<int32_t> sizes;
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    sizes.push_back(queues.getNumItems(queue));
  run(sizes);
}

void Simulation::run(llvm::ArrayRef<int32_t> newLimits) {
  limits.assign(newLimits.begin(), newLimits.end());
  std::swap(ready, stopped);
  firstStop = std::numeric_limits<double>::infinity();
  runReadyQueues();
  std::vector<GroupId> ended;
  while (!links.isIdle() && links.getNextTime() < firstStop) {
    double time = links.getNextTime();
    links.advance(ended);
    for (GroupId group : ended)
      end(group, time);
    ended.clear();
    runReadyQueues();
  }
}

void Simulation::runReadyQueues() {
  while (!ready.empty()) {
    QueueId queue = ready.back();
    ready.pop_back();
    runQueue(queue);
  }
}

bool Simulation::join(QueueId queue, double time, GroupId group) {
  Group &joined = groups[group];
  joined.start = std::max(joined.start, time);
  wait(queue, joined.waiting);
  return --joined.missing == 0;
}

void Simulation::begin(GroupId group) {
  const Queues::Group &costs = queues.groups[group];
  const double start = groups[group].start;
  if (costs.numLinks > 0 && links.isShared(group))
    links.add(group, start);
  else
    end(group, start + costs.latency + costs.seconds);
}

void Simulation::end(GroupId group, double time) {
  QueueId waiting = groups[group].waiting;
  for (QueueId party = waiting; party != none; party = nextWaiting[party]) {
    timeline.queues[party].ends[positions[party] - numSkipped[party]] = time;
    ++positions[party];
    clocks[party] = time;
  }
  wake(waiting);
}

void Simulation::runQueue(QueueId queue) {
  const uint32_t *codes = queues.queues[queue].codes.data();
  const double *durations = queues.queues[queue].durations.data();
  double *ends = timeline.queues[queue].ends.data();
  int32_t skipped = numSkipped[queue];
  int32_t limit = limits[queue];
  int32_t index = positions[queue];
  double time = clocks[queue];
  for (; index < limit; ++index) {
    uint32_t operand = codes[index] >> Queues::kindBits;
    switch (static_cast<ItemKind>(codes[index] & Queues::kindMask)) {
    case ItemKind::Work:
      time += durations[operand];
      break;
    case ItemKind::Wait: {
      Event &event = events[operand];
      if (event.time == hasNotHappened) {
        positions[queue] = index;
        clocks[queue] = time;
        return wait(queue, event.queue);
      }
      time = std::max(time, event.time);
      break;
    }
    case ItemKind::Record: {
      Event &event = events[operand];
      if (event.time == hasNotHappened)
        wake(event.queue);
      event = {time, queue, index};
      break;
    }
    case ItemKind::Rendezvous:
      positions[queue] = index;
      clocks[queue] = time;
      if (join(queue, time, static_cast<int32_t>(operand)))
        begin(static_cast<int32_t>(operand));
      return;
    }
    ends[index - skipped] = time;
  }
  positions[queue] = index;
  clocks[queue] = time;
  if (index == queues.getNumItems(queue))
    return;
  stopped.push_back(queue);
  firstStop = std::min(firstStop, time);
}

//===----------------------------------------------------------------------===//
// Skipping
//===----------------------------------------------------------------------===//

void Simulation::addEvents(QueueId queue, int32_t items, int32_t count,
                           double period) {
  std::vector<int32_t> records;
  for (int32_t index = positions[queue] - items; index < positions[queue];
       ++index)
    if (queues.getKind({queue, index}) == ItemKind::Record)
      records.push_back(index);
  // In ascending order of indices, which is that of memory.
  for (int32_t repeat = 1; repeat <= count; ++repeat)
    for (int32_t record : records) {
      int32_t index = record + repeat * items;
      events[queues.getOperand({queue, index})] = {
          getEnd(queue, record) + repeat * period, queue, index};
    }
}

void Simulation::waitAgain(QueueId queue) {
  ItemId item{queue, positions[queue]};
  int32_t operand = queues.getOperand(item);
  if (queues.getKind(item) == ItemKind::Wait)
    wait(queue, events[operand].queue);
  else
    // If this is the last member, the transfer starts.
    join(queue, clocks[queue], operand);
}

void Simulation::skip(llvm::ArrayRef<int32_t> items, int32_t count,
                      double period) {
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    if (items[queue] > 0)
      addEvents(queue, items[queue], count, period);
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
    if (items[queue] == 0)
      continue;
    int32_t skipped = items[queue] * count;
    timeline.queues[queue].skips.push_back(
        {positions[queue], items[queue], count, period});
    numSkipped[queue] += skipped;
    limits[queue] += skipped;
    positions[queue] += skipped;
    clocks[queue] += count * period;
    if (waits(queue))
      waitAgain(queue);
  }
  links.shift(count * period, [&](GroupId group) {
    QueueId queue = queues.groups[group].firstParties[0];
    return queues.getOperand({queue, positions[queue]});
  });
}

llvm::Expected<Timeline>
simulate(const Queues &queues,
         llvm::function_ref<std::string(ItemId)> getName) {
  Simulation simulation(queues);
  skipPeriods(queues, simulation);
  simulation.run();
  for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
    if (simulation.getPositions()[queue] != queues.getNumItems(queue))
      return explainDeadlock(queues, simulation.getPositions(), getName);
  return simulation.takeTimeline();
}

} // namespace mf::events
