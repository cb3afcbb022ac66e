//===- PackInWindows.cpp - Search in successive windows of time -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "PackSearch.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::memory {

namespace {

class WindowPacker {
public:
  WindowPacker(const PackProblem &problem, int64_t capacity, WorkBudget &budget)
      : problem(problem), capacity(capacity), budget(budget) {
    offsets.assign(problem.items.size(), -1);
    for (size_t i = 0; i < problem.items.size(); ++i) {
      const PackItem &item = problem.items[i];
      if (item.size == 0 || item.fixedOffset >= 0)
        offsets[i] = std::max<int64_t>(0, item.fixedOffset);
      if (item.size == 0)
        continue;
      (item.fixedOffset >= 0 ? fixed : order).push_back(i);
    }
    auto byBegin = [&](size_t a, size_t b) {
      return std::make_pair(problem.items[a].begin, -problem.items[a].end) <
             std::make_pair(problem.items[b].begin, -problem.items[b].end);
    };
    sortIndices(fixed, byBegin);
    sortIndices(order, byBegin);
  }

  std::optional<PackResult> run() {
    // The window is so wide that most of its first half has ended when the last
    // item begins.
    size_t smallest = std::max<size_t>(48, 2 * getLargestCrowd());
    size_t largest = 4 * smallest;
    size_t width = smallest;
    while (numPlaced < order.size()) {
      if (budget.isExhausted())
        return std::nullopt;
      int32_t now = problem.items[order[numPlaced]].begin;
      while (numEnded < numPlaced && problem.items[order[numEnded]].end <= now)
        ++numEnded;
      size_t last = std::min(numPlaced + width, order.size());
      if (solve(numPlaced, last)) {
        // The second half was only a look-ahead.
        numPlaced = last == order.size() ? last : numPlaced + width / 2;
        width = smallest;
        continue;
      }
      if (width >= largest)
        return std::nullopt;
      // Go back by as much as is added at the front.
      numPlaced -= std::min(numPlaced, width / 2);
      numEnded = 0;
      width *= 2;
    }
    PackResult result;
    for (size_t i = 0; i < offsets.size(); ++i)
      if (problem.items[i].size > 0)
        result.peak = std::max(result.peak, offsets[i] + problem.items[i].size);
    result.offsets = std::move(offsets);
    return result;
  }

private:
  /// Searches for offsets of the items from `first` until before `last` of the
  /// order.
  bool solve(size_t first, size_t last) {
    int32_t begin = problem.items[order[first]].begin, end = 0;
    PackProblem window;
    window.walls = problem.walls;
    for (size_t i = first; i < last; ++i) {
      PackItem item = problem.items[order[i]];
      end = std::max(end, item.end);
      item.begin -= begin;
      item.end -= begin;
      window.items.push_back(item);
    }
    window.numSections = end - begin;
    addObstacles(begin, end, window);
    // A state costs several operations for every item, and the budget should
    // allow many states.
    int64_t count = static_cast<int64_t>(last - first);
    int64_t work =
        std::min(240 * count * static_cast<int64_t>(window.items.size()),
                 budget.getRest());
    CapacitySearchResult result = searchWithin(window, capacity, work);
    budget.spend(result.work + 20 * static_cast<int64_t>(window.items.size()) +
                 4 * window.numSections);
    if (result.status != CapacitySearchResult::Status::Fit)
      return false;
    for (size_t i = first; i < last; ++i)
      offsets[order[i]] = result.offsets[i - first];
    return true;
  }

  /// Returns the largest number of items, without fixed ones, that are live at
  /// one time.
  size_t getLargestCrowd() const {
    std::vector<int64_t> crowd(problem.numSections + 1, 0);
    for (size_t index : order) {
      ++crowd[problem.items[index].begin];
      --crowd[problem.items[index].end];
    }
    std::partial_sum(crowd.begin(), crowd.end(), crowd.begin());
    return *std::max_element(crowd.begin(), crowd.end());
  }

  /// Adds placed items that are live somewhere in [begin, end), clipped to that
  /// range.
  void addObstacles(int32_t begin, int32_t end, PackProblem &window) const {
    auto add = [&](size_t index) {
      PackItem item = problem.items[index];
      item.fixedOffset = offsets[index];
      item.begin = std::max(item.begin, begin) - begin;
      item.end = std::min(item.end, end) - begin;
      if (item.begin < item.end)
        window.items.push_back(item);
    };
    for (size_t i = numEnded; i < numPlaced; ++i)
      add(order[i]);
    for (size_t index : fixed) {
      if (problem.items[index].begin >= end)
        break;
      add(index);
    }
  }

  const PackProblem &problem;
  int64_t capacity;
  WorkBudget &budget;
  std::vector<int64_t> offsets;
  /// The fixed items and the others, by begin.
  std::vector<size_t> fixed;
  std::vector<size_t> order;
  /// The number of items, in the order of `order`, whose places are final.
  size_t numPlaced = 0;
  /// The number of those items, from the start, that have ended.
  size_t numEnded = 0;
};

} // namespace

std::optional<PackResult> packInWindows(const PackProblem &problem,
                                        int64_t capacity, WorkBudget &budget) {
  return WindowPacker(problem, capacity, budget).run();
}

} // namespace mf::memory
