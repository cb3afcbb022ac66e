//===- Simulation.h - Queues in time ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_EVENTENGINE_SIMULATION_H
#define MF_LIB_PERF_EVENTENGINE_SIMULATION_H

#include "SharedLinks.h"
#include "mf/Perf/EventEngine/Queues.h"
#include <algorithm>
#include <limits>

namespace mf::events {

/// Runs each queue until it has to wait, and continues when what it waits for
/// has happened. A queue waits for one thing at a time, so the queues that wait
/// for the same thing form a linked list.
///
/// Transfers that may share links are processed in order of time: when no queue
/// can continue, the earliest of their starts and ends is next. A transfer that
/// starts later follows a known one, so it does not start earlier.
class Simulation {
public:
  explicit Simulation(const Queues &queues)
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
      timeline.queues[queue].ends.resize_for_overwrite(
          queues.getNumItems(queue));
    }
  }

  /// Runs until no queue can or may continue. Queues stop before the item of
  /// their limit. Transfers that could be affected by actions of queues after
  /// their limits stay in progress. The resulting state depends on the limits
  /// alone.
  void run(llvm::ArrayRef<int32_t> newLimits) {
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

  /// Runs to the end, unless queues wait forever.
  void run() {
    std::vector<int32_t> sizes;
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
      sizes.push_back(queues.getNumItems(queue));
    run(sizes);
  }

  /// Returns the item at which each queue is. It is one past the last if the
  /// queue is done.
  llvm::ArrayRef<int32_t> getPositions() const { return positions; }
  /// Returns the time at which a queue reached its current item.
  double getClock(QueueId queue) const { return clocks[queue]; }
  /// Returns whether a queue waits for others, rather than being at its limit
  /// or end.
  bool waits(QueueId queue) const { return positions[queue] < limits[queue]; }
  /// Returns the end of an item that was simulated since the last skip of its
  /// queue.
  double getEnd(QueueId queue, int32_t index) const {
    return timeline.queues[queue].ends[index - numSkipped[queue]];
  }
  /// Returns the time of an event that has happened.
  double getTime(EventId event) const { return events[event].time; }
  ItemId getRecord(EventId event) const {
    return {events[event].queue, events[event].index};
  }
  const SharedLinks &getLinks() const { return links; }

  /// Advances the state by `count` periods, each of which takes `period`. A
  /// period of a queue is its last `items[queue]` items, which its next items
  /// must repeat. Queues with 0 items do not move.
  void skip(llvm::ArrayRef<int32_t> items, int32_t count, double period) {
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

  Timeline takeTimeline() { return std::move(timeline); }

private:
  static constexpr double hasNotHappened = -1;
  static constexpr QueueId none = -1;

  void runReadyQueues() {
    while (!ready.empty()) {
      QueueId queue = ready.back();
      ready.pop_back();
      runQueue(queue);
    }
  }

  void runQueue(QueueId queue) {
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

  /// Makes the queues of a list, linked by nextWaiting, ready.
  void wake(QueueId list) {
    for (; list != none; list = nextWaiting[list])
      ready.push_back(list);
  }
  void wait(QueueId queue, QueueId &list) {
    nextWaiting[queue] = list;
    list = queue;
  }

  /// Makes a queue join its rendezvous. Returns whether it was the last member.
  bool join(QueueId queue, double time, GroupId group) {
    Group &joined = groups[group];
    joined.start = std::max(joined.start, time);
    wait(queue, joined.waiting);
    return --joined.missing == 0;
  }

  void begin(GroupId group) {
    const Queues::Group &costs = queues.groups[group];
    const double start = groups[group].start;
    if (costs.numLinks > 0 && links.isShared(group))
      links.add(group, start);
    else
      end(group, start + costs.latency + costs.seconds);
  }

  void end(GroupId group, double time) {
    QueueId waiting = groups[group].waiting;
    for (QueueId party = waiting; party != none; party = nextWaiting[party]) {
      timeline.queues[party].ends[positions[party] - numSkipped[party]] = time;
      ++positions[party];
      clocks[party] = time;
    }
    wake(waiting);
  }

  /// Adds the events that a queue records in the periods that are skipped.
  void addEvents(QueueId queue, int32_t items, int32_t count, double period) {
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

  /// Lets a queue wait at its new position.
  void waitAgain(QueueId queue) {
    ItemId item{queue, positions[queue]};
    int32_t operand = queues.getOperand(item);
    if (queues.getKind(item) == ItemKind::Wait)
      wait(queue, events[operand].queue);
    else
      // If this is the last member, the transfer starts.
      join(queue, clocks[queue], operand);
  }

  struct Event {
    double time = hasNotHappened;
    /// The first queue that waits for the event or, after it has happened, the
    /// queue that recorded it.
    QueueId queue = none;
    int32_t index = -1;
  };
  struct Group {
    double start = 0;
    int32_t missing = 0;
    QueueId waiting = none;
  };

  const Queues &queues;
  SharedLinks links;
  std::vector<Event> events;
  std::vector<Group> groups;
  std::vector<int32_t> positions;
  std::vector<double> clocks;
  std::vector<int32_t> limits;
  std::vector<QueueId> nextWaiting;
  std::vector<QueueId> ready;
  /// Queues at their limits, and the earliest of their clocks.
  std::vector<QueueId> stopped;
  double firstStop = 0;
  /// Items of each queue that were skipped.
  std::vector<int32_t> numSkipped;
  Timeline timeline;
};

/// Simulates the runs of marked queues, if there is a tick, and skips
/// repetitions. Items after the runs are not simulated.
void skipPeriods(const Queues &queues, Simulation &simulation);

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_SIMULATION_H
