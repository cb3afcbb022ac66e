//===- Simulation.cpp - Lines in time -------------------------------------===//

#include "Simulation.h"
#include "Deadlock.h"
#include "SteadyState.h"
#include <algorithm>
#include <limits>

namespace mf::sim {

Simulation::Simulation(const Lines &lines)
    : lines(lines), links(lines), events(lines.getNumEvents()),
      groups(lines.getNumGroups()), positions(lines.getNumLines(), 0),
      clocks(lines.getNumLines(), 0), limits(lines.getNumLines(), 0),
      nextWaiting(lines.getNumLines(), none),
      numSkipped(lines.getNumLines(), 0) {
  for (GroupId group = 0; group < lines.getNumGroups(); ++group)
    groups[group].missing = lines.getGroupSize(group);
  for (LineId line = lines.getNumLines() - 1; line >= 0; --line)
    stopped.push_back(line);
  timeline.lines.resize(lines.getNumLines());
  for (LineId line = 0; line < lines.getNumLines(); ++line) {
    timeline.lines[line].size = lines.getNumItems(line);
    timeline.lines[line].ends.resize_for_overwrite(lines.getNumItems(line));
  }
}

void Simulation::run() {
  std::vector<int32_t> sizes;
  for (LineId line = 0; line < lines.getNumLines(); ++line)
    sizes.push_back(lines.getNumItems(line));
  run(sizes);
}

void Simulation::run(llvm::ArrayRef<int32_t> newLimits) {
  limits.assign(newLimits.begin(), newLimits.end());
  std::swap(ready, stopped);
  firstStop = std::numeric_limits<double>::infinity();
  runReadyLines();
  std::vector<GroupId> ended;
  while (!links.isIdle() && links.getNextTime() < firstStop) {
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

bool Simulation::join(LineId line, double time, GroupId group) {
  Group &joined = groups[group];
  joined.start = std::max(joined.start, time);
  wait(line, joined.waiting);
  return --joined.missing == 0;
}

void Simulation::begin(GroupId group) {
  const Lines::Group &costs = lines.groups[group];
  double start = groups[group].start + costs.latency;
  if (costs.numLinks > 0 && links.isShared(group))
    links.add(group, start);
  else
    end(group, start + costs.seconds);
}

void Simulation::end(GroupId group, double time) {
  LineId waiting = groups[group].waiting;
  for (LineId party = waiting; party != none; party = nextWaiting[party]) {
    timeline.lines[party].ends[positions[party] - numSkipped[party]] = time;
    ++positions[party];
    clocks[party] = time;
  }
  wake(waiting);
}

void Simulation::runLine(LineId line) {
  const uint32_t *codes = lines.lines[line].codes.data();
  const double *durations = lines.lines[line].durations.data();
  double *ends = timeline.lines[line].ends.data();
  int32_t skipped = numSkipped[line];
  int32_t limit = limits[line];
  int32_t index = positions[line];
  double time = clocks[line];
  for (; index < limit; ++index) {
    uint32_t operand = codes[index] >> Lines::kindBits;
    switch (static_cast<ItemKind>(codes[index] & Lines::kindMask)) {
    case ItemKind::Work:
      time += durations[operand];
      break;
    case ItemKind::Wait: {
      Event &event = events[operand];
      if (event.time == hasNotHappened) {
        positions[line] = index;
        clocks[line] = time;
        return wait(line, event.line);
      }
      time = std::max(time, event.time);
      break;
    }
    case ItemKind::Record: {
      Event &event = events[operand];
      if (event.time == hasNotHappened)
        wake(event.line);
      event = {time, line, index};
      break;
    }
    case ItemKind::Rendezvous:
      positions[line] = index;
      clocks[line] = time;
      if (join(line, time, operand))
        begin(operand);
      return;
    }
    ends[index - skipped] = time;
  }
  positions[line] = index;
  clocks[line] = time;
  if (index == lines.getNumItems(line))
    return;
  stopped.push_back(line);
  firstStop = std::min(firstStop, time);
}

//===----------------------------------------------------------------------===//
// Skipping
//===----------------------------------------------------------------------===//

void Simulation::addEvents(LineId line, int32_t items, int32_t count,
                           double period) {
  std::vector<int32_t> records;
  for (int32_t index = positions[line] - items; index < positions[line];
       ++index)
    if (lines.getKind({line, index}) == ItemKind::Record)
      records.push_back(index);
  // In the order of their numbers, so of memory.
  for (int32_t repeat = 1; repeat <= count; ++repeat)
    for (int32_t record : records) {
      int32_t index = record + repeat * items;
      events[lines.getOperand({line, index})] = {
          getEnd(line, record) + repeat * period, line, index};
    }
}

void Simulation::waitAgain(LineId line) {
  ItemId item{line, positions[line]};
  int32_t operand = lines.getOperand(item);
  if (lines.getKind(item) == ItemKind::Wait)
    wait(line, events[operand].line);
  else
    // If it is the last, the transfer is under way.
    join(line, clocks[line], operand);
}

void Simulation::skip(llvm::ArrayRef<int32_t> items, int32_t count,
                      double period) {
  for (LineId line = 0; line < lines.getNumLines(); ++line)
    if (items[line] > 0)
      addEvents(line, items[line], count, period);
  for (LineId line = 0; line < lines.getNumLines(); ++line) {
    if (items[line] == 0)
      continue;
    int32_t skipped = items[line] * count;
    timeline.lines[line].skips.push_back(
        {positions[line], items[line], count, period});
    numSkipped[line] += skipped;
    limits[line] += skipped;
    positions[line] += skipped;
    clocks[line] += count * period;
    if (waits(line))
      waitAgain(line);
  }
  links.shift(count * period, [&](GroupId group) {
    LineId line = lines.groups[group].firstParties[0];
    return lines.getOperand({line, positions[line]});
  });
}

llvm::Expected<Timeline>
simulate(const Lines &lines, llvm::function_ref<std::string(ItemId)> getName) {
  Simulation simulation(lines);
  skipPeriods(lines, simulation);
  simulation.run();
  for (LineId line = 0; line < lines.getNumLines(); ++line)
    if (simulation.getPositions()[line] != lines.getNumItems(line))
      return explainDeadlock(lines, simulation.getPositions(), getName);
  return simulation.takeTimeline();
}

} // namespace mf::sim
