//===- Periods.cpp - Queues whose items repeat ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The items between two marks of a queue get a number that depends on their
// actions, but not on their events and groups. The shortest period of these
// numbers in a window of the queue is a guess, which is then checked item by
// item and extended in both directions.
//
//===----------------------------------------------------------------------===//

#include "Periods.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cstring>
#include <numeric>

namespace mf::events {

namespace {

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

  std::vector<Run> find();

private:
  struct Window {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Window getWindow(QueueId queue, int64_t size) const;
  uint64_t getNumber(QueueId queue, int32_t begin, int32_t end) const;
  /// Returns the number of marks in a period; 0 if none is found.
  int64_t getPeriod(QueueId queue) const;
  int64_t getPeriod(QueueId queue, int64_t windowSize) const;
  /// Returns the run with this number of marks in a period.
  Run getRun(QueueId queue, int64_t period) const;
  bool isLinear(QueueId queue, int32_t first, int32_t items) const;
  bool haveSameWork(QueueId queue, int32_t first, int32_t items) const;

  const Queues &queues;
  llvm::ArrayRef<int32_t> positions;
  double share;
};

RunFinder::Window RunFinder::getWindow(QueueId queue, int64_t size) const {
  auto marks = static_cast<int64_t>(queues.queues[queue].marks.size());
  int64_t half = std::min(size, marks / windowShare) / 2;
  auto middle = static_cast<int64_t>(share * static_cast<double>(marks));
  return {std::max<int64_t>(0, middle - half),
          std::min(marks - 1, middle + half)};
}

uint64_t RunFinder::getNumber(QueueId queue, int32_t begin, int32_t end) const {
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

int64_t RunFinder::getPeriod(QueueId queue) const {
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

int64_t RunFinder::getPeriod(QueueId queue, int64_t windowSize) const {
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

/// Returns whether three periods from an item on have the same kinds of items,
/// and whether the indices of their durations, events and groups increase by
/// equal steps.
bool RunFinder::isLinear(QueueId queue, int32_t first, int32_t items) const {
  const uint32_t *codes = queues.queues[queue].codes.data() + first;
  uint32_t differences = 0;
  for (int32_t index = 0; index < items; ++index) {
    uint32_t one = codes[index], two = codes[index + items],
             three = codes[index + 2 * items];
    differences |= (one - 2 * two + three) | ((one ^ two) & Queues::kindMask);
  }
  return differences == 0;
}

/// Returns whether work takes the same time in two periods with the same kinds.
bool RunFinder::haveSameWork(QueueId queue, int32_t first,
                             int32_t items) const {
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

Run RunFinder::getRun(QueueId queue, int64_t period) const {
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

std::vector<Run> RunFinder::find() {
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

std::vector<Run> findRuns(const Queues &queues,
                          llvm::ArrayRef<int32_t> positions, double share) {
  return RunFinder(queues, positions, share).find();
}

} // namespace mf::events
