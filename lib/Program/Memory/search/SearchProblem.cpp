//===- SearchProblem.cpp - A problem prepared for search ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SearchProblem.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace mf::memory {

/// For each section, returns the maximal section to which it belongs. A new one
/// starts when something begins after something has ended.
static std::vector<int32_t> getMaximalSections(const PackProblem &pack) {
  std::vector<char> begins(pack.numSections + 1, 0);
  std::vector<char> ends(pack.numSections + 1, 0);
  for (const PackItem &item : pack.items) {
    if (item.size == 0)
      continue;
    begins[item.begin] = 1;
    ends[item.end] = 1;
  }
  std::vector<int32_t> maximal(pack.numSections, -1);
  int32_t current = -1;
  bool hasEnded = true;
  for (int32_t section = 0; section < pack.numSections; ++section) {
    hasEnded |= ends[section] != 0;
    if (begins[section] && hasEnded) {
      ++current;
      hasEnded = false;
    }
    maximal[section] = current;
  }
  return maximal;
}

/// Merges adjacent obstacles that have the same sections.
static void mergeObstacles(std::vector<Obstacle> &obstacles) {
  std::sort(obstacles.begin(), obstacles.end(),
            [](const Obstacle &a, const Obstacle &b) {
              return std::tie(a.low, a.begin) < std::tie(b.low, b.begin);
            });
  std::vector<Obstacle> merged;
  for (const Obstacle &obstacle : obstacles) {
    auto below = llvm::find_if(llvm::reverse(merged), [&](const Obstacle &o) {
      return o.high == obstacle.low && o.begin == obstacle.begin &&
             o.end == obstacle.end;
    });
    if (below != merged.rend())
      below->high = obstacle.high;
    else
      merged.push_back(obstacle);
  }
  obstacles = std::move(merged);
}

/// Sorts the buffers by begin and fills the tables of sections.
static void indexByBegin(SearchProblem &search) {
  std::vector<size_t> order =
      getSortedIndices<size_t>(search.buffers.size(), [&](size_t a, size_t b) {
        return search.buffers[a].begin < search.buffers[b].begin;
      });
  std::vector<SearchBuffer> buffers;
  std::vector<size_t> indices;
  for (size_t index : order) {
    buffers.push_back(search.buffers[index]);
    indices.push_back(search.indices[index]);
  }
  search.buffers = std::move(buffers);
  search.indices = std::move(indices);
  search.numBegunBefore.assign(search.numSections + 1, 0);
  search.lastEndBefore.assign(search.numSections + 1, 0);
  for (const SearchBuffer &buffer : search.buffers) {
    ++search.numBegunBefore[buffer.begin + 1];
    int32_t &last = search.lastEndBefore[buffer.begin + 1];
    last = std::max(last, buffer.end);
  }
  for (int32_t s = 1; s <= search.numSections; ++s) {
    search.numBegunBefore[s] += search.numBegunBefore[s - 1];
    search.lastEndBefore[s] =
        std::max(search.lastEndBefore[s], search.lastEndBefore[s - 1]);
  }
}

SearchProblem makeSearchProblem(const PackProblem &pack, int64_t capacity) {
  std::vector<int32_t> maximal = getMaximalSections(pack);
  int64_t granule = getGranule(pack);
  SearchProblem search;
  search.capacity = capacity - capacity % granule;
  search.isExact = capacity % granule == 0;
  for (size_t index = 0; index < pack.items.size(); ++index) {
    const PackItem &item = pack.items[index];
    if (item.size == 0)
      continue;
    int32_t begin = maximal[item.begin], end = maximal[item.end - 1] + 1;
    search.numSections = std::max(search.numSections, end);
    int64_t size = alignUp(item.size, granule);
    if (item.fixedOffset >= 0) {
      search.obstacles.push_back(
          {begin, end, item.fixedOffset, item.fixedOffset + size});
      continue;
    }
    search.isUniform &= item.alignment == granule;
    search.buffers.push_back({begin, end, size, item.alignment});
    search.indices.push_back(index);
  }
  mergeObstacles(search.obstacles);
  for (int64_t address : pack.walls) {
    Obstacle wall = {0, search.numSections, address, address};
    search.obstacles.insert(
        llvm::upper_bound(
            search.obstacles, wall,
            [](const Obstacle &a, const Obstacle &b) { return a.low < b.low; }),
        wall);
  }
  search.isExact &= search.isUniform;
  indexByBegin(search);
  return search;
}

} // namespace mf::memory
