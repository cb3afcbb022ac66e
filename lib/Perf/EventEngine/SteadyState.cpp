//===- SteadyState.cpp - Periods that need no simulation ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Queues that repeat their actions reach a state after which all events are
// those of the previous period, later by a constant. Such a state is searched
// at the marks of queues (Queues::markPeriod). It is used only if these
// conditions are proven:
//
// - The queues' items repeat (Run below).
// - In a simulation period by period (Simulation::run with limits), all queues
//   are at the same places of their periods at two of these limits. Their
//   clocks differ by the same time, transfers under way have the same progress,
//   and queues that have not moved arrived too early to matter.
// - The events for which waits of the last period waited were recorded at one
//   place of the periods. Over all periods for which later waits can wait, the
//   recorded events are later by the same time, or are long past.
// - At the end, too, the events for which queues wait are still to come.
//
// The future of the queues depends only on this state and on differences of
// times, which a tick makes exact. Therefore the next period ends in the same
// state again.
//
//===----------------------------------------------------------------------===//

#include "Simulation.h"
#include "mf/Perf/EventEngine/Queues.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace mf::events {

namespace {

/// Successive periods of a queue with equal numbers of items. Items at the same
/// place in them are of the same kind, work takes the same time, and the
/// indices of events and groups differ by a constant between successive
/// periods. Durations of rendezvous are not compared.
struct Run {
  int32_t first = 0;
  /// Items of a period; 0 if the queue has no run.
  int32_t items = 0;
  int32_t periods = 0;

  int32_t getEnd() const { return first + items * periods; }
};

/// The numbers of marks in windows, the smallest first. A window has at most
/// one `windowShare`-th of the marks of its queue.
constexpr int64_t windowSizes[] = {64, 512, 4096}, windowShare = 4;
/// The smallest number of periods in a window.
constexpr int64_t fewestPeriods = 3;
/// The largest number of marks in a period.
constexpr int64_t longestPeriod = 1 << 20;

/// Returns the shortest distance at which all numbers repeat.
int64_t getShortestPeriod(llvm::ArrayRef<uint64_t> numbers) {
  // As in the algorithm of Knuth, Morris and Pratt, this is the length of the
  // longest end of each prefix that is also its beginning.
  std::vector<int64_t> borders(numbers.size(), 0);
  for (size_t index = 1; index < numbers.size(); ++index) {
    int64_t border = borders[index - 1];
    while (border > 0 && numbers[index] != numbers[border])
      border = borders[border - 1];
    borders[index] = border + (numbers[index] == numbers[border] ? 1 : 0);
  }
  return static_cast<int64_t>(numbers.size()) - borders.back();
}

} // namespace

class RunFinder {
public:
  RunFinder(const Queues &queues, llvm::ArrayRef<int32_t> positions,
            double share)
      : queues(queues), positions(positions), share(share) {}

  std::vector<Run> find() {
    int64_t period = 1;
    bool repeats = false;
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue) {
      int64_t ofQueue = getPeriod(queue);
      if (ofQueue == 0)
        continue;
      repeats = true;
      period = std::lcm(period, ofQueue);
      if (period > longestPeriod)
        return {};
    }
    if (!repeats)
      return {};
    std::vector<Run> runs;
    for (QueueId queue = 0; queue < queues.getNumQueues(); ++queue)
      runs.push_back(getRun(queue, period));
    return runs;
  }

private:
  struct Window {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Window getWindow(QueueId queue, int64_t size) const {
    auto marks = static_cast<int64_t>(queues.queues[queue].marks.size());
    int64_t half = std::min(size, marks / windowShare) / 2;
    auto middle = static_cast<int64_t>(share * static_cast<double>(marks));
    return {std::max<int64_t>(0, middle - half),
            std::min(marks - 1, middle + half)};
  }

  uint64_t getNumber(QueueId queue, int32_t begin, int32_t end) const {
    uint64_t number = 0;
    for (int32_t index = begin; index < end; ++index) {
      ItemId item{queue, index};
      auto time = llvm::bit_cast<uint64_t>(queues.getDuration(item));
      uint64_t what = time ^ static_cast<uint64_t>(queues.getKind(item));
      // Multiplication by an odd number is injective, so different values stay
      // different.
      number = (llvm::rotl(number, 23) ^ what) * 0x9e3779b97f4a7c15;
    }
    return number;
  }

  /// Returns the number of marks in a period; 0 if none is found.
  int64_t getPeriod(QueueId queue) const {
    auto marks = static_cast<int64_t>(queues.queues[queue].marks.size());
    for (int64_t size : windowSizes) {
      if (int64_t period = getPeriod(queue, size))
        return period;
      // The window cannot grow further.
      if (size * windowShare >= marks)
        break;
    }
    return 0;
  }

  int64_t getPeriod(QueueId queue, int64_t windowSize) const {
    llvm::ArrayRef<int32_t> marks = queues.queues[queue].marks;
    Window window = getWindow(queue, windowSize);
    int64_t size = window.end - window.begin;
    if (size < fewestPeriods || marks[window.begin] == marks[window.end] ||
        marks[window.begin] < positions[queue])
      return 0;
    std::vector<uint64_t> numbers;
    numbers.reserve(size);
    for (int64_t mark = window.begin; mark < window.end; ++mark)
      numbers.push_back(getNumber(queue, marks[mark], marks[mark + 1]));
    int64_t period = getShortestPeriod(numbers);
    return period * fewestPeriods <= size ? period : 0;
  }

  /// Returns the run with this number of marks in a period.
  Run getRun(QueueId queue, int64_t period) const {
    llvm::ArrayRef<int32_t> marks = queues.queues[queue].marks;
    Window window = getWindow(queue, period * fewestPeriods);
    if (window.end - window.begin < period)
      return {};
    int32_t begin = marks[window.begin], size = queues.getNumItems(queue);
    Run run;
    run.items = marks[window.begin + period] - begin;
    if (run.items == 0)
      return {};
    // Three equal periods have the same duration.
    auto isLinearFrom = [&](int32_t first) {
      return first >= positions[queue] && first + 3 * run.items <= size &&
             isLinear(queue, first, run.items);
    };
    if (!isLinearFrom(begin) || !haveSameWork(queue, begin, 2 * run.items))
      return {};
    run.first = begin;
    while (isLinearFrom(run.first - run.items) &&
           haveSameWork(queue, run.first - run.items, run.items))
      run.first -= run.items;
    int32_t end = begin + 3 * run.items;
    while (isLinearFrom(end - 2 * run.items) &&
           haveSameWork(queue, end - run.items, run.items))
      end += run.items;
    run.periods = (end - run.first) / run.items;
    return run;
  }

  /// Returns whether three periods from an item on have the same kinds of
  /// items, and whether the indices of their durations, events and groups
  /// increase by equal amounts.
  bool isLinear(QueueId queue, int32_t first, int32_t items) const {
    const uint32_t *codes = queues.queues[queue].codes.data() + first;
    uint32_t differences = 0;
    for (int32_t index = 0; index < items; ++index) {
      uint32_t one = codes[index], two = codes[index + items],
               three = codes[index + 2 * items];
      differences |= (one - 2 * two + three) | ((one ^ two) & Queues::kindMask);
    }
    return differences == 0;
  }

  /// Returns whether work takes the same time in two periods with the same
  /// kinds.
  bool haveSameWork(QueueId queue, int32_t first, int32_t items) const {
    auto isWork = [&](int32_t index) {
      return queues.getKind({queue, index}) == ItemKind::Work;
    };
    int32_t last = first + items - 1;
    while (first <= last && !isWork(first))
      ++first;
    while (first <= last && !isWork(last))
      --last;
    if (first > last)
      return true;
    // The durations of a queue's work are in its order.
    const double *durations = queues.queues[queue].durations.data();
    int32_t begin = queues.getOperand({queue, first});
    return std::memcmp(durations + begin,
                       durations + queues.getOperand({queue, first + items}),
                       (queues.getOperand({queue, last}) + 1 - begin) *
                           sizeof(double)) == 0;
  }

  const Queues &queues;
  llvm::ArrayRef<int32_t> positions;
  double share;
};

/// Returns for each queue the run, from its position on, that covers the middle
/// of a window at `share` of its marks (0 to 1). All queues have the same
/// number of marks in a period. Empty if nothing repeats several times.
static std::vector<Run> findRuns(const Queues &queues,
                                 llvm::ArrayRef<int32_t> positions,
                                 double share) {
  return RunFinder(queues, positions, share).find();
}

namespace {

/// The largest number of limits after which a state is compared with earlier
/// ones. Repetitions that are longer are not found.
constexpr int32_t mostRounds = 64;
/// With fewer periods, skipping does not pay off.
constexpr int32_t fewestRounds = 4;
/// The places in the queues where runs are searched. A schedule with several
/// phases has one of them at each place.
constexpr double windows[] = {0.25, 0.5, 0.75};
/// The number of ticks up to which sums of times are exact, with a margin.
constexpr double mostTicks = 0x1p52;

/// The state of all queues at the limits of a round.
struct QueueSnapshot {
  /// The clock of the first queue with a run.
  double now = 0;
  /// Positions of queues, relative to the limit where a queue has a run.
  std::vector<int32_t> positions;
  /// Clocks of queues with a run, relative to `now`.
  std::vector<double> clocks;
  std::vector<SharedLinks::State> transfers;

  bool operator==(const QueueSnapshot &other) const {
    return positions == other.positions && clocks == other.clocks &&
           transfers == other.transfers;
  }
};

} // namespace

class SteadyState {
public:
  SteadyState(const Queues &queues, Simulation &simulation,
              std::vector<Run> runs)
      : queues(queues), simulation(simulation), runs(std::move(runs)),
        numQueues(queues.getNumQueues()), history(mostRounds + 1) {}

  void run() {
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
      // A wait may reach further back than the periods that were compared, so
      // the next attempt comes after twice as many.
      nextTry *= 2;
    }
  }

private:
  /// Removes short runs. Returns the number of periods that all remaining runs
  /// have.
  int32_t countRounds() {
    int32_t fewest = std::numeric_limits<int32_t>::max();
    for (Run &run : runs) {
      if (run.periods < fewestRounds)
        run = {};
      else
        fewest = std::min(fewest, run.periods);
    }
    return fewest == std::numeric_limits<int32_t>::max() ? 0 : fewest;
  }

  bool repeats(QueueId queue) const { return runs[queue].items > 0; }
  void runRound(int32_t round) {
    limits.resize(numQueues);
    for (QueueId queue = 0; queue < numQueues; ++queue)
      limits[queue] = repeats(queue)
                          ? runs[queue].first + round * runs[queue].items
                          : queues.getNumItems(queue);
    simulation.run(limits);

    QueueSnapshot &snapshot = history[round % history.size()];
    auto first =
        llvm::find_if(runs, [](const Run &run) { return run.items > 0; });
    snapshot.now =
        simulation.getClock(static_cast<QueueId>(first - runs.begin()));
    snapshot.positions.assign(simulation.getPositions().begin(),
                              simulation.getPositions().end());
    snapshot.clocks.clear();
    for (QueueId queue = 0; queue < numQueues; ++queue) {
      if (!repeats(queue))
        continue;
      snapshot.positions[queue] -= limits[queue];
      snapshot.clocks.push_back(simulation.getClock(queue) - snapshot.now);
    }
    snapshot.transfers = simulation.getLinks().getStates(snapshot.now);
  }

  /// Computes `rounds`, the number of rounds since the state was the same
  /// before.
  void compare(int32_t round) {
    const QueueSnapshot &now = history[round % history.size()];
    auto isAsBefore = [&](int32_t before) {
      return before <= round &&
             now == history[(round - before) % history.size()];
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

  /// Returns the number of times, at most `most`, that the period since then
  /// can be skipped; 0 if that is not proven.
  int32_t prove(int32_t most) {
    items.assign(numQueues, 0);
    begins.assign(numQueues, 0);
    double last = 0;
    for (QueueId queue = 0; queue < numQueues; ++queue) {
      last = std::max(last, simulation.getClock(queue));
      if (!repeats(queue))
        continue;
      items[queue] = rounds * runs[queue].items;
      // The items of the last `rounds` are compared with those of the previous
      // period.
      if (getPosition(queue) - items[queue] <
          runs[queue].first + runs[queue].items)
        return 0;
      begins[queue] = findBegin(queue);
    }
    if (most < 1 || last + (most + 1) * period > mostTicks * queues.getTick() ||
        !othersStay() || !waitsRepeat())
      return 0;
    return limitByOthers(limitByRendezvous(limitByWaits(most)));
  }

  int32_t getPosition(QueueId queue) const {
    return simulation.getPositions()[queue];
  }
  /// Returns how much later the item is than that of the previous period.
  double getDelay(QueueId queue, int32_t index) const {
    return simulation.getEnd(queue, index) -
           simulation.getEnd(queue, index - items[queue]);
  }
  /// Returns the difference of the index of an event or group from that of the
  /// previous period.
  int32_t getStride(QueueId queue, int32_t index) const {
    return queues.getOperand({queue, index}) -
           queues.getOperand({queue, index - runs[queue].items});
  }

  /// Returns the first item from which on each item is later by the period than
  /// the one before.
  /// The search goes back no further than the states are equal.
  int32_t findBegin(QueueId queue) const {
    int32_t first =
        std::max(runs[queue].first + items[queue],
                 getPosition(queue) - (streak / rounds + 1) * items[queue]);
    int32_t begin = getPosition(queue);
    while (begin > first && getDelay(queue, begin - 1) == period)
      --begin;
    return begin;
  }

  bool waitsRepeat() const {
    for (QueueId queue = 0; queue < numQueues; ++queue)
      for (int32_t index = getPosition(queue) - items[queue];
           index < getPosition(queue); ++index)
        if (queues.getKind({queue, index}) == ItemKind::Wait &&
            !waitRepeats(queue, index))
          return false;
    return true;
  }

  bool waitRepeats(QueueId queue, int32_t index) const {
    EventId event = queues.getOperand({queue, index});
    ItemId record = simulation.getRecord(event);
    ItemId before = simulation.getRecord(event - getStride(queue, index));
    // The event is long past, also in the next period.
    if (record == before)
      return simulation.getTime(event) <= simulation.getEnd(queue, index - 1);
    return record.queue == before.queue && repeats(record.queue) &&
           record.index - before.index == runs[record.queue].items &&
           before.index >= runs[record.queue].first &&
           record.index + items[record.queue] >= begins[record.queue];
  }

  /// Queues without runs may only wait for events of queues with runs if these
  /// are later than their own arrival.
  bool othersStay() const {
    double earliest = std::numeric_limits<double>::infinity();
    for (QueueId queue = 0; queue < numQueues; ++queue)
      if (repeats(queue))
        earliest = std::min(earliest, simulation.getClock(queue) - period);
    for (QueueId queue = 0; queue < numQueues; ++queue)
      if (!repeats(queue) && simulation.waits(queue) &&
          simulation.getClock(queue) > earliest)
        return false;
    return true;
  }

  /// Events that a queue waits for in the end are still to be recorded, by its
  /// run; after the run, another queue may have recorded them before.
  int32_t limitByWaits(int32_t most) const {
    for (QueueId queue = 0; queue < numQueues; ++queue) {
      ItemId next{queue, getPosition(queue)};
      if (!repeats(queue) || !simulation.waits(queue) ||
          queues.getKind(next) != ItemKind::Wait)
        continue;
      ItemId before = simulation.getRecord(queues.getOperand(next) -
                                           getStride(queue, next.index));
      if (!repeats(before.queue))
        return 0;
      const Run &run = runs[before.queue];
      int32_t behind = run.getEnd() - 1 - (before.index + run.items);
      most = std::min(most, behind / items[before.queue]);
    }
    return most;
  }

  int32_t limitByRendezvous(int32_t most) const {
    struct Seen {
      int32_t stride = 0;
      int32_t parties = 0;
    };
    llvm::DenseMap<GroupId, Seen> seen;
    for (QueueId queue = 0; queue < numQueues; ++queue) {
      if (!repeats(queue))
        continue;
      int32_t end = getPosition(queue);
      for (int32_t index = end - items[queue]; index < end; ++index) {
        if (queues.getKind({queue, index}) != ItemKind::Rendezvous)
          continue;
        GroupId group = queues.getOperand({queue, index});
        int32_t stride = rounds * getStride(queue, index);
        auto [found, isNew] = seen.try_emplace(group, Seen{stride, 0});
        if (stride == 0 || found->second.stride != stride)
          return 0;
        ++found->second.parties;
        if (isNew)
          most = limitByCosts(group, stride, most);
      }
      // An item for which the queue waits continues as the last one that takes
      // its place.
      ItemId next{queue, end};
      if (simulation.waits(queue) &&
          queues.getKind(next) == ItemKind::Rendezvous)
        most = limitByCosts(queues.getOperand(next),
                            rounds * getStride(queue, end), most);
    }
    for (auto [group, ofGroup] : seen)
      if (ofGroup.parties != queues.getGroupSize(group))
        return 0;
    return most;
  }

  /// Returns how many times the group at multiples of `stride` further on
  /// equals this one.
  int32_t limitByCosts(GroupId group, int32_t stride, int32_t most) const {
    for (int32_t time = 1; time <= most; ++time)
      if (!costsTheSame(group, group + time * stride))
        return time - 1;
    return most;
  }

  /// Limits the count by the events for which queues without runs wait.
  int32_t limitByOthers(int32_t most) const {
    std::vector<std::pair<ItemKind, int32_t>> awaited;
    for (QueueId queue = 0; queue < numQueues; ++queue) {
      ItemId item{queue, getPosition(queue)};
      if (!repeats(queue) && simulation.waits(queue))
        awaited.push_back({queues.getKind(item) == ItemKind::Wait
                               ? ItemKind::Record
                               : ItemKind::Rendezvous,
                           queues.getOperand(item)});
    }
    for (QueueId queue = 0; queue < numQueues; ++queue) {
      if (!repeats(queue))
        continue;
      int32_t end = getPosition(queue);
      for (int32_t index = end - items[queue];
           index < end + (simulation.waits(queue) ? 1 : 0); ++index) {
        ItemKind kind = queues.getKind({queue, index});
        if (kind != ItemKind::Record && kind != ItemKind::Rendezvous)
          continue;
        int32_t stride = rounds * getStride(queue, index);
        if (stride == 0)
          return 0;
        for (auto [ofKind, operand] : awaited) {
          int32_t distance = operand - queues.getOperand({queue, index});
          if (kind == ofKind && distance % stride == 0 &&
              distance / stride >= 1)
            most = std::min(most, distance / stride - 1);
        }
      }
    }
    return most;
  }

  bool costsTheSame(GroupId one, GroupId other) const {
    const Queues::Group &first = queues.groups[one],
                        &second = queues.groups[other];
    return first.latency == second.latency && first.seconds == second.seconds &&
           first.size == second.size && first.isWork == second.isWork &&
           first.speeds == second.speeds &&
           queues.getLinks(one) == queues.getLinks(other);
  }

  const Queues &queues;
  Simulation &simulation;
  std::vector<Run> runs;
  int32_t numQueues;
  std::vector<int32_t> limits;
  /// The states of the last rounds, by their number modulo the size.
  std::vector<QueueSnapshot> history;

  int32_t rounds = 0;
  /// The number of successive rounds whose state was that of `rounds` earlier.
  int32_t streak = 0, nextTry = 0;

  // The members below describe the state that is to be proven.
  /// Items of each queue in `rounds`, and findBegin().
  std::vector<int32_t> items, begins;
  double period = 0;
};

void skipPeriods(const Queues &queues, Simulation &simulation) {
  if (queues.getTick() == 0)
    return;
  for (double window : windows) {
    std::vector<Run> runs = findRuns(queues, simulation.getPositions(), window);
    if (!runs.empty())
      SteadyState(queues, simulation, std::move(runs)).run();
  }
}

} // namespace mf::events
