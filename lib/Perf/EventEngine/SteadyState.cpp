//===- SteadyState.cpp - Periods that need no simulation ------------------===//

#include "SteadyState.h"
#include "Periods.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::sim {

namespace {

/// Limits after which a state is compared with earlier ones, at most: what
/// repeats only after more is not found.
constexpr int32_t mostRounds = 64;
/// Below that many periods there is nothing to win.
constexpr int32_t fewestRounds = 4;
/// Parts of the lines where runs are looked for: one phase of a schedule that
/// has several goes through each.
constexpr double windows[] = {0.25, 0.5, 0.75};
/// Ticks up to which sums of times are exact, with some to spare.
constexpr double mostTicks = 0x1p52;

/// How all lines stand at the limits of a round.
struct LineSnapshot {
  /// The clock of the first line with a run.
  double now = 0;
  /// Positions of lines, relative to the limit where a line has a run.
  std::vector<int32_t> positions;
  /// Clocks of lines with a run, relative to `now`.
  std::vector<double> clocks;
  std::vector<SharedLinks::State> transfers;

  bool operator==(const LineSnapshot &other) const {
    return positions == other.positions && clocks == other.clocks &&
           transfers == other.transfers;
  }
};

} // namespace

class SteadyState {
public:
  SteadyState(const Lines &lines, Simulation &simulation, std::vector<Run> runs)
      : lines(lines), simulation(simulation), runs(std::move(runs)),
        numLines(lines.getNumLines()), history(mostRounds + 1) {}

  void run();

private:
  /// Leaves out runs that are short; how many periods the others all have.
  int32_t countRounds();
  bool repeats(LineId line) const { return runs[line].items > 0; }
  void runRound(int32_t round);
  /// Finds `rounds`, after which the state was the last time what it is now.
  void compare(int32_t round);

  /// How often what was since then can be skipped, `most` times at most: 0 if
  /// it is not proven.
  int32_t prove(int32_t most);
  int32_t getPosition(LineId line) const {
    return simulation.getPositions()[line];
  }
  /// How much later the item is than that of the period before.
  double getDelay(LineId line, int32_t index) const {
    return simulation.getEnd(line, index) -
           simulation.getEnd(line, index - items[line]);
  }
  /// By how much the number of an event or group differs from that of the
  /// period before.
  int32_t getStep(LineId line, int32_t index) const {
    return lines.getOperand({line, index}) -
           lines.getOperand({line, index - runs[line].items});
  }
  /// The first item from which on each is later by the period than the one
  /// before.
  int32_t findBegin(LineId line) const;
  bool waitsRepeat() const;
  bool waitRepeats(LineId line, int32_t index) const;
  bool othersStay() const;
  int32_t limitByWaits(int32_t most) const;
  int32_t limitByRendezvous(int32_t most) const;
  int32_t limitByCosts(GroupId group, int32_t step, int32_t most) const;
  int32_t limitByOthers(int32_t most) const;
  bool costsTheSame(GroupId one, GroupId other) const;

  const Lines &lines;
  Simulation &simulation;
  std::vector<Run> runs;
  int32_t numLines;
  std::vector<int32_t> limits;
  /// The states of the last rounds, by their number modulo the size.
  std::vector<LineSnapshot> history;

  int32_t rounds = 0;
  /// Rounds in which the state was that of `rounds` before.
  int32_t streak = 0, nextTry = 0;

  // The members below describe the state that is to be proven.
  /// Items of each line in `rounds`, and findBegin().
  std::vector<int32_t> items, begins;
  double period = 0;
};

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

int32_t SteadyState::countRounds() {
  int32_t fewest = std::numeric_limits<int32_t>::max();
  for (Run &run : runs) {
    if (run.periods < fewestRounds)
      run = {};
    else
      fewest = std::min(fewest, run.periods);
  }
  return fewest == std::numeric_limits<int32_t>::max() ? 0 : fewest;
}

void SteadyState::runRound(int32_t round) {
  limits.resize(numLines);
  for (LineId line = 0; line < numLines; ++line)
    limits[line] = repeats(line) ? runs[line].first + round * runs[line].items
                                 : lines.getNumItems(line);
  simulation.run(limits);

  LineSnapshot &snapshot = history[round % history.size()];
  auto first =
      llvm::find_if(runs, [](const Run &run) { return run.items > 0; });
  snapshot.now = simulation.getClock(static_cast<LineId>(first - runs.begin()));
  snapshot.positions.assign(simulation.getPositions().begin(),
                            simulation.getPositions().end());
  snapshot.clocks.clear();
  for (LineId line = 0; line < numLines; ++line) {
    if (!repeats(line))
      continue;
    snapshot.positions[line] -= limits[line];
    snapshot.clocks.push_back(simulation.getClock(line) - snapshot.now);
  }
  snapshot.transfers = simulation.getLinks().getStates(snapshot.now);
}

void SteadyState::compare(int32_t round) {
  const LineSnapshot &now = history[round % history.size()];
  auto isAsBefore = [&](int32_t before) {
    return before <= round && now == history[(round - before) % history.size()];
  };
  if (rounds > 0 && isAsBefore(rounds)) {
    ++streak;
    return;
  }
  streak = 1;
  for (rounds = 1; rounds <= mostRounds; ++rounds) {
    nextTry = 1;
    if (isAsBefore(rounds))
      return;
  }
  rounds = 0;
}

void SteadyState::run() {
  int32_t numRounds = countRounds();
  if (numRounds == 0)
    return;
  for (int32_t round = 0; round <= numRounds; ++round) {
    runRound(round);
    compare(round);
    if (rounds == 0 || streak < nextTry)
      continue;
    period = history[round % history.size()].now -
             history[(round - rounds) % history.size()].now;
    int32_t count = prove((numRounds - round) / rounds);
    if (count > 0)
      return simulation.skip(items, count, period);
    // Maybe waits reach further back.
    nextTry *= 2;
  }
}

//===----------------------------------------------------------------------===//
// Proof
//===----------------------------------------------------------------------===//

int32_t SteadyState::prove(int32_t most) {
  items.assign(numLines, 0);
  begins.assign(numLines, 0);
  double last = 0;
  for (LineId line = 0; line < numLines; ++line) {
    last = std::max(last, simulation.getClock(line));
    if (!repeats(line))
      continue;
    items[line] = rounds * runs[line].items;
    // Items in `rounds` are compared with those of the period before.
    if (getPosition(line) - items[line] < runs[line].first + runs[line].items)
      return 0;
    begins[line] = findBegin(line);
  }
  if (most < 1 || last + (most + 1) * period > mostTicks * lines.getTick() ||
      !othersStay() || !waitsRepeat())
    return 0;
  return limitByOthers(limitByRendezvous(limitByWaits(most)));
}

/// Lines without runs may wait, for what lines with runs do later than they
/// came.
bool SteadyState::othersStay() const {
  double earliest = std::numeric_limits<double>::infinity();
  for (LineId line = 0; line < numLines; ++line)
    if (repeats(line))
      earliest = std::min(earliest, simulation.getClock(line) - period);
  for (LineId line = 0; line < numLines; ++line)
    if (!repeats(line) && simulation.waits(line) &&
        simulation.getClock(line) > earliest)
      return false;
  return true;
}

/// Looks no further back than the state repeats.
int32_t SteadyState::findBegin(LineId line) const {
  int32_t first =
      std::max(runs[line].first + items[line],
               getPosition(line) - (streak / rounds + 1) * items[line]);
  int32_t begin = getPosition(line);
  while (begin > first && getDelay(line, begin - 1) == period)
    --begin;
  return begin;
}

bool SteadyState::waitsRepeat() const {
  for (LineId line = 0; line < numLines; ++line)
    for (int32_t index = getPosition(line) - items[line];
         index < getPosition(line); ++index)
      if (lines.getKind({line, index}) == ItemKind::Wait &&
          !waitRepeats(line, index))
        return false;
  return true;
}

bool SteadyState::waitRepeats(LineId line, int32_t index) const {
  EventId event = lines.getOperand({line, index});
  ItemId record = simulation.getRecord(event);
  ItemId before = simulation.getRecord(event - getStep(line, index));
  // It has long happened, and will have so the next time.
  if (record == before)
    return simulation.getTime(event) <= simulation.getEnd(line, index - 1);
  return record.line == before.line && repeats(record.line) &&
         record.index - before.index == runs[record.line].items &&
         before.index >= runs[record.line].first &&
         record.index + items[record.line] >= begins[record.line];
}

/// Events that a line waits for in the end are still to be recorded, by its
/// run; after the run, another line may have recorded them before.
int32_t SteadyState::limitByWaits(int32_t most) const {
  for (LineId line = 0; line < numLines; ++line) {
    ItemId next{line, getPosition(line)};
    if (!repeats(line) || !simulation.waits(line) ||
        lines.getKind(next) != ItemKind::Wait)
      continue;
    ItemId before = simulation.getRecord(lines.getOperand(next) -
                                         getStep(line, next.index));
    if (!repeats(before.line))
      return 0;
    const Run &run = runs[before.line];
    int32_t behind = run.getEnd() - 1 - (before.index + run.items);
    most = std::min(most, behind / items[before.line]);
  }
  return most;
}

bool SteadyState::costsTheSame(GroupId one, GroupId other) const {
  const Lines::Group &first = lines.groups[one], &second = lines.groups[other];
  return first.latency == second.latency && first.seconds == second.seconds &&
         first.size == second.size &&
         lines.getLinks(one) == lines.getLinks(other);
}

/// How many times the group that many steps further is like this one.
int32_t SteadyState::limitByCosts(GroupId group, int32_t step,
                                  int32_t most) const {
  for (int32_t time = 1; time <= most; ++time)
    if (!costsTheSame(group, group + time * step))
      return time - 1;
  return most;
}

int32_t SteadyState::limitByRendezvous(int32_t most) const {
  struct Seen {
    int32_t step = 0;
    int32_t parties = 0;
  };
  llvm::DenseMap<GroupId, Seen> seen;
  for (LineId line = 0; line < numLines; ++line) {
    if (!repeats(line))
      continue;
    int32_t end = getPosition(line);
    for (int32_t index = end - items[line]; index < end; ++index) {
      if (lines.getKind({line, index}) != ItemKind::Rendezvous)
        continue;
      GroupId group = lines.getOperand({line, index});
      int32_t step = rounds * getStep(line, index);
      auto [found, isNew] = seen.try_emplace(group, Seen{step, 0});
      if (step == 0 || found->second.step != step)
        return 0;
      ++found->second.parties;
      if (isNew)
        most = limitByCosts(group, step, most);
    }
    // One that it waits for goes on as the last one that will take its place.
    ItemId next{line, end};
    if (simulation.waits(line) && lines.getKind(next) == ItemKind::Rendezvous)
      most = limitByCosts(lines.getOperand(next), rounds * getStep(line, end),
                          most);
  }
  for (auto [group, ofGroup] : seen)
    if (ofGroup.parties != lines.getGroupSize(group))
      return 0;
  return most;
}

/// Until what lines without runs wait for.
int32_t SteadyState::limitByOthers(int32_t most) const {
  std::vector<std::pair<ItemKind, int32_t>> awaited;
  for (LineId line = 0; line < numLines; ++line) {
    ItemId item{line, getPosition(line)};
    if (!repeats(line) && simulation.waits(line))
      awaited.push_back({lines.getKind(item) == ItemKind::Wait
                             ? ItemKind::Record
                             : ItemKind::Rendezvous,
                         lines.getOperand(item)});
  }
  for (LineId line = 0; line < numLines; ++line) {
    if (!repeats(line))
      continue;
    int32_t end = getPosition(line);
    for (int32_t index = end - items[line];
         index < end + (simulation.waits(line) ? 1 : 0); ++index) {
      ItemKind kind = lines.getKind({line, index});
      if (kind != ItemKind::Record && kind != ItemKind::Rendezvous)
        continue;
      int32_t step = rounds * getStep(line, index);
      if (step == 0)
        return 0;
      for (auto [ofKind, operand] : awaited) {
        int32_t distance = operand - lines.getOperand({line, index});
        if (kind == ofKind && distance % step == 0 && distance / step >= 1)
          most = std::min(most, distance / step - 1);
      }
    }
  }
  return most;
}

void skipPeriods(const Lines &lines, Simulation &simulation) {
  if (lines.getTick() == 0)
    return;
  for (double window : windows) {
    std::vector<Run> runs = findRuns(lines, simulation.getPositions(), window);
    if (!runs.empty())
      SteadyState(lines, simulation, std::move(runs)).run();
  }
}

} // namespace mf::sim
