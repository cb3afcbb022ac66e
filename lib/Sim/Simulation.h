//===- Simulation.h - Lines in time ---------------------------*- C++ -*-===//

#ifndef MF_LIB_SIM_SIMULATION_H
#define MF_LIB_SIM_SIMULATION_H

#include "SharedLinks.h"
#include "mf/Sim/Lines.h"

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

  void run();
  /// The item at which each line stands: one after its last if it is through.
  llvm::ArrayRef<int32_t> getPositions() const { return positions; }
  Timeline takeTimeline() { return std::move(timeline); }

private:
  static constexpr double hasNotHappened = -1;
  static constexpr LineId none = -1;

  void runReadyLines();
  void runLine(LineId line);
  /// Makes the lines of a list, linked by nextWaiting, ready.
  void wake(LineId &list);
  void wait(LineId line, LineId &list) {
    nextWaiting[line] = list;
    list = line;
  }
  /// Joins a line to its rendezvous, and begins that if it was the last.
  void join(LineId line, double time, GroupId group);
  void end(GroupId group, double time);

  struct Event {
    double time = hasNotHappened;
    LineId waiting = none;
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
  std::vector<LineId> nextWaiting;
  std::vector<LineId> ready;
  Timeline timeline;
};

} // namespace mf::sim

#endif // MF_LIB_SIM_SIMULATION_H
