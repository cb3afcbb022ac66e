//===- Simulation.h - Queues in time ----------------------------*- C++ -*-===//

#ifndef MF_LIB_SIM_SIMULATION_H
#define MF_LIB_SIM_SIMULATION_H

#include "SharedLinks.h"
#include "mf/Perf/EventEngine/Queues.h"

namespace mf::sim {

/// Runs each queue until it has to wait, and again when what it waits for has
/// happened. A queue waits for one thing at a time, so those that wait for the
/// same are a list linked through the queues.
///
/// Transfers that may meet others on their links are processed in the order of
/// time: once no queue can go on, the earliest of their starts and ends is
/// next. Whatever starts later is behind a transfer that is known, so not
/// before it.
class Simulation {
public:
  explicit Simulation(const Queues &queues);

  /// Goes on until no queue can, or may, go on: queues stop before the item of
  /// their limit. Transfers then are under way that could meet what queues do
  /// behind their limits. How far all is depends on the limits alone.
  void run(llvm::ArrayRef<int32_t> limits);
  /// To the end, if queues do not wait for ever.
  void run();

  /// The item at which each queue stands: one after its last if it is through.
  llvm::ArrayRef<int32_t> getPositions() const { return positions; }
  /// When a queue came to the item at which it stands.
  double getClock(QueueId queue) const { return clocks[queue]; }
  /// Whether a queue waits for others, rather than at its limit or end.
  bool waits(QueueId queue) const { return positions[queue] < limits[queue]; }
  /// The end of an item that was simulated since the last skip of its queue.
  double getEnd(QueueId queue, int32_t index) const {
    return timeline.queues[queue].ends[index - numSkipped[queue]];
  }
  /// An event that has happened.
  double getTime(EventId event) const { return events[event].time; }
  ItemId getRecord(EventId event) const {
    return {events[event].queue, events[event].index};
  }
  const SharedLinks &getLinks() const { return links; }

  /// Stands as it would after `count` times what it did since each queue began
  /// the last `items[queue]` items before it, which takes `period` each time
  /// and is what the queues' next items say. Queues with 0 items stay.
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
  /// Lets a queue wait for its rendezvous; tells whether it was the last.
  bool join(QueueId queue, double time, GroupId group);
  void begin(GroupId group);
  void end(GroupId group, double time);
  /// Adds the events that a queue records in periods that are skipped.
  void addEvents(QueueId queue, int32_t items, int32_t count, double period);
  /// Lets a queue wait at its new position.
  void waitAgain(QueueId queue);

  struct Event {
    double time = hasNotHappened;
    /// The first that waits for it or, once it has happened, that recorded it.
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

} // namespace mf::sim

#endif // MF_LIB_SIM_SIMULATION_H
