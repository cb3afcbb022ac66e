//===- Simulation.h - Queues in time ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_EVENTENGINE_SIMULATION_H
#define MF_LIB_PERF_EVENTENGINE_SIMULATION_H

#include "SharedLinks.h"
#include "mf/Perf/EventEngine/Queues.h"

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
  explicit Simulation(const Queues &queues);

  /// Runs until no queue can or may continue. Queues stop before the item of
  /// their limit. Transfers that could be affected by actions of queues after
  /// their limits stay in progress. The resulting state depends on the limits
  /// alone.
  void run(llvm::ArrayRef<int32_t> limits);
  /// Runs to the end, unless queues wait forever.
  void run();

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
  void skip(llvm::ArrayRef<int32_t> items, int32_t count, double period);

  Timeline takeTimeline() { return std::move(timeline); }

private:
  static constexpr double hasNotHappened = -1;
  static constexpr QueueId none = -1;

  void runReadyQueues();
  void runQueue(QueueId queue);
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
  bool join(QueueId queue, double time, GroupId group);
  void begin(GroupId group);
  void end(GroupId group, double time);
  /// Adds the events that a queue records in the periods that are skipped.
  void addEvents(QueueId queue, int32_t items, int32_t count, double period);
  /// Lets a queue wait at its new position.
  void waitAgain(QueueId queue);

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

} // namespace mf::events

#endif // MF_LIB_PERF_EVENTENGINE_SIMULATION_H
