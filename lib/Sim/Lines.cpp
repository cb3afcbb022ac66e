//===- Lines.cpp - Simulation of queues in time ---------------------------===//

#include "mf/Sim/Lines.h"
#include "Deadlock.h"
#include <algorithm>

namespace mf::sim {

LineId Lines::addLine() {
  lines.emplace_back();
  return getNumLines() - 1;
}

EventId Lines::addEvents(int32_t count) {
  numEvents += count;
  return numEvents - count;
}

GroupId Lines::addGroup(double duration) {
  groupSizes.push_back(0);
  groupDurations.push_back(duration);
  return getNumGroups() - 1;
}

void Lines::reserve(LineId line, size_t items, size_t works) {
  lines[line].codes.reserve(items);
  lines[line].durations.reserve(works);
}

double Lines::getDuration(ItemId item) const {
  switch (getKind(item)) {
  case ItemKind::Work:
    return lines[item.line].durations[getOperand(item)];
  case ItemKind::Rendezvous:
    return groupDurations[getOperand(item)];
  case ItemKind::Wait:
  case ItemKind::Record:
    return 0;
  }
  llvm_unreachable("covers all kinds");
}

double Timeline::getEnd() const {
  double end = 0;
  for (LineId line = 0; line < static_cast<LineId>(ends.size()); ++line)
    end = std::max(end, getEnd(line));
  return end;
}

char DeadlockError::ID = 0; // NOLINT(readability-identifier-naming)

/// Runs each line until it has to wait, and again when what it waits for has
/// happened. A line waits for one thing at a time, so those that wait for the
/// same are a list linked through the lines.
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

  void runLine(LineId line);
  /// Makes the lines of a list, linked by nextWaiting, ready.
  void wake(LineId &list);
  void wait(LineId line, LineId &list) {
    nextWaiting[line] = list;
    list = line;
  }
  /// Joins a line to its rendezvous, and ends that if it was the last.
  void join(LineId line, double time, GroupId group);

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
  std::vector<Event> events;
  std::vector<Group> groups;
  std::vector<int32_t> positions;
  std::vector<LineId> nextWaiting;
  std::vector<LineId> ready;
  Timeline timeline;
};

Simulation::Simulation(const Lines &lines)
    : lines(lines), events(lines.getNumEvents()), groups(lines.getNumGroups()),
      positions(lines.getNumLines(), 0),
      nextWaiting(lines.getNumLines(), none) {
  for (GroupId group = 0; group < lines.getNumGroups(); ++group)
    groups[group].missing = lines.getGroupSize(group);
  for (LineId line = 0; line < lines.getNumLines(); ++line) {
    timeline.starts.emplace_back(lines.getNumItems(line));
    timeline.ends.emplace_back(lines.getNumItems(line));
  }
}

void Simulation::run() {
  for (LineId line = lines.getNumLines() - 1; line >= 0; --line)
    ready.push_back(line);
  while (!ready.empty()) {
    LineId line = ready.back();
    ready.pop_back();
    runLine(line);
  }
}

void Simulation::wake(LineId &list) {
  for (; list != none; list = nextWaiting[list])
    ready.push_back(list);
}

void Simulation::join(LineId line, double time, GroupId group) {
  Group &joined = groups[group];
  joined.start = std::max(joined.start, time);
  wait(line, joined.waiting);
  if (--joined.missing != 0)
    return;
  double end = joined.start + lines.groupDurations[group];
  for (LineId party = joined.waiting; party != none;
       party = nextWaiting[party]) {
    timeline.ends[party][positions[party]] = end;
    ++positions[party];
  }
  wake(joined.waiting);
}

void Simulation::runLine(LineId line) {
  const uint32_t *codes = lines.lines[line].codes.data();
  const double *durations = lines.lines[line].durations.data();
  double *starts = timeline.starts[line].data();
  double *ends = timeline.ends[line].data();
  int32_t size = lines.getNumItems(line);
  int32_t index = positions[line];
  double time = index == 0 ? 0 : ends[index - 1];
  for (; index < size; ++index) {
    uint32_t operand = codes[index] >> Lines::kindBits;
    starts[index] = time;
    switch (static_cast<ItemKind>(codes[index] & Lines::kindMask)) {
    case ItemKind::Work:
      time += durations[operand];
      break;
    case ItemKind::Wait: {
      Event &event = events[operand];
      if (event.time == hasNotHappened) {
        positions[line] = index;
        return wait(line, event.waiting);
      }
      time = std::max(time, event.time);
      break;
    }
    case ItemKind::Record:
      events[operand].time = time;
      wake(events[operand].waiting);
      break;
    case ItemKind::Rendezvous:
      positions[line] = index;
      join(line, time, operand);
      return;
    }
    ends[index] = time;
  }
  positions[line] = size;
}

llvm::Expected<Timeline>
simulate(const Lines &lines, llvm::function_ref<std::string(ItemId)> getName) {
  Simulation simulation(lines);
  simulation.run();
  for (LineId line = 0; line < lines.getNumLines(); ++line)
    if (simulation.getPositions()[line] != lines.getNumItems(line))
      return explainDeadlock(lines, simulation.getPositions(), getName);
  return simulation.takeTimeline();
}

} // namespace mf::sim
