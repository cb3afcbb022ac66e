//===- Simulation.h - Lines in time ---------------------------*- C++ -*-===//

#ifndef MF_LIB_SIM_SIMULATION_H
#define MF_LIB_SIM_SIMULATION_H

#include "SharedLinks.h"
#include "mf/Perf/EventEngine/Lines.h"

namespace mf::sim {

/// Runs each line until it has to wait, and again when what it waits for has
/// happened. A line waits for one thing at a time, so those that wait for the
/// same are a list linked through the lines.
///
/// Transfers that may meet others on their links are processed in the order of
/// time: once no line can go on, the earliest of their starts and ends is next.
/// Whatever starts later is behind a transfer that is known, so not before it.
class Simulation {
public:
  explicit Simulation(const Lines &lines);

  /// Goes on until no line can, or may, go on: lines stop before the item of
  /// their limit. Transfers then are under way that could meet what lines do
  /// behind their limits. How far all is depends on the limits alone.
  void run(llvm::ArrayRef<int32_t> limits);
  /// To the end, if lines do not wait for ever.
  void run();

  /// The item at which each line stands: one after its last if it is through.
  llvm::ArrayRef<int32_t> getPositions() const { return positions; }
  /// When a line came to the item at which it stands.
  double getClock(LineId line) const { return clocks[line]; }
  /// Whether a line waits for others, rather than at its limit or end.
  bool waits(LineId line) const { return positions[line] < limits[line]; }
  /// The end of an item that was simulated since the last skip of its line.
  double getEnd(LineId line, int32_t index) const {
    return timeline.lines[line].ends[index - numSkipped[line]];
  }
  /// An event that has happened.
  double getTime(EventId event) const { return events[event].time; }
  ItemId getRecord(EventId event) const {
    return {events[event].line, events[event].index};
  }
  const SharedLinks &getLinks() const { return links; }

  /// Stands as it would after `count` times what it did since each line began
  /// the last `items[line]` items before it, which takes `period` each time and
  /// is what the lines' next items say. Lines with 0 items stay.
  void skip(llvm::ArrayRef<int32_t> items, int32_t count, double period);

  Timeline takeTimeline() { return std::move(timeline); }

private:
  static constexpr double hasNotHappened = -1;
  static constexpr LineId none = -1;

  void runReadyLines();
  void runLine(LineId line);
  /// Makes the lines of a list, linked by nextWaiting, ready.
  void wake(LineId list) {
    for (; list != none; list = nextWaiting[list])
      ready.push_back(list);
  }
  void wait(LineId line, LineId &list) {
    nextWaiting[line] = list;
    list = line;
  }
  /// Lets a line wait for its rendezvous; tells whether it was the last.
  bool join(LineId line, double time, GroupId group);
  void begin(GroupId group);
  void end(GroupId group, double time);
  /// Adds the events that a line records in periods that are skipped.
  void addEvents(LineId line, int32_t items, int32_t count, double period);
  /// Lets a line wait at its new position.
  void waitAgain(LineId line);

  struct Event {
    double time = hasNotHappened;
    /// The first that waits for it or, once it has happened, that recorded it.
    LineId line = none;
    int32_t index = -1;
  };
  struct Group {
    double start = 0;
    int32_t missing = 0;
    LineId waiting = none;
  };

  const Lines &lines;
  SharedLinks links;
  std::vector<Event> events;
  std::vector<Group> groups;
  std::vector<int32_t> positions;
  std::vector<double> clocks;
  std::vector<int32_t> limits;
  std::vector<LineId> nextWaiting;
  std::vector<LineId> ready;
  /// Lines at their limits, and the earliest of their clocks.
  std::vector<LineId> stopped;
  double firstStop = 0;
  /// Items of each line that were skipped.
  std::vector<int32_t> numSkipped;
  Timeline timeline;
};

} // namespace mf::sim

#endif // MF_LIB_SIM_SIMULATION_H
