//===- Simulation.cpp - Lines in time -------------------------------------===//

#include "Simulation.h"
#include "Deadlock.h"
#include <algorithm>

namespace mf::sim {

Simulation::Simulation(const Lines &lines)
    : lines(lines), links(lines), events(lines.getNumEvents()),
      groups(lines.getNumGroups()), positions(lines.getNumLines(), 0),
      nextWaiting(lines.getNumLines(), none) {
  for (GroupId group = 0; group < lines.getNumGroups(); ++group)
    groups[group].missing = lines.getGroupSize(group);
  for (LineId line = 0; line < lines.getNumLines(); ++line)
    timeline.ends.emplace_back(lines.getNumItems(line));
}

void Simulation::run() {
  for (LineId line = lines.getNumLines() - 1; line >= 0; --line)
    ready.push_back(line);
  runReadyLines();
  std::vector<GroupId> ended;
  while (!links.isIdle()) {
    double time = links.getNextTime();
    links.advance(ended);
    for (GroupId group : ended)
      end(group, time);
    ended.clear();
    runReadyLines();
  }
}

void Simulation::runReadyLines() {
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
  const Lines::Group &costs = lines.groups[group];
  if (costs.numLinks > 0 && links.isShared(group))
    links.add(group, joined.start + costs.latency);
  else
    end(group, joined.start + costs.latency + costs.seconds);
}

void Simulation::end(GroupId group, double time) {
  LineId &waiting = groups[group].waiting;
  for (LineId party = waiting; party != none; party = nextWaiting[party]) {
    timeline.ends[party][positions[party]] = time;
    ++positions[party];
  }
  wake(waiting);
}

void Simulation::runLine(LineId line) {
  const uint32_t *codes = lines.lines[line].codes.data();
  const double *durations = lines.lines[line].durations.data();
  double *ends = timeline.ends[line].data();
  int32_t size = lines.getNumItems(line);
  int32_t index = positions[line];
  double time = index == 0 ? 0 : ends[index - 1];
  for (; index < size; ++index) {
    uint32_t operand = codes[index] >> Lines::kindBits;
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
