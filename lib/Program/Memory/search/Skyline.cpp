//===- Skyline.cpp - A partial packing built from below -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Skyline.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

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

/// Returns the result of the finalizer of SplitMix64 (Steele et al., 2014).
static uint64_t mixBits(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// Returns the address ranges that a buffer cannot touch because obstacles are
/// live at the same time. Ranges are joined if the buffer does not fit between
/// them.
static std::vector<AddressRange>
getBlockedRanges(llvm::ArrayRef<Obstacle> obstacles,
                 const SearchBuffer &buffer) {
  std::vector<AddressRange> blocked;
  for (const Obstacle &obstacle : obstacles) {
    if (obstacle.begin >= buffer.end || buffer.begin >= obstacle.end)
      continue;
    if (!blocked.empty() &&
        alignUp(blocked.back().end, buffer.alignment) + buffer.size >
            obstacle.low)
      blocked.back().end = std::max(blocked.back().end, obstacle.high);
    else
      blocked.push_back({obstacle.low, obstacle.high});
  }
  return blocked;
}

Skyline::Skyline(const SearchProblem &problem)
    : problem(problem), obstaclesOf(problem.numSections),
      raised(problem.numSections), spanning(problem.numSections + 1) {
  // Obstacles are visited from the highest one down, because each entry counts
  // the bytes of those above it. Their sizes are rounded up, so one can extend
  // into the next.
  for (const Obstacle &obstacle : llvm::reverse(problem.obstacles)) {
    if (obstacle.low == obstacle.high)
      continue;
    for (int32_t s = obstacle.begin; s < obstacle.end; ++s) {
      std::vector<SectionObstacle> &here = obstaclesOf[s];
      if (here.empty()) {
        here.push_back({obstacle.low, obstacle.high, 0});
        continue;
      }
      const SectionObstacle &next = here.back();
      here.push_back({obstacle.low, std::min(obstacle.high, next.low),
                      next.above + next.high - next.low});
    }
  }
  smallest = std::numeric_limits<int64_t>::max();
  for (uint64_t i = 0; i < problem.buffers.size(); ++i) {
    const SearchBuffer &buffer = problem.buffers[i];
    blocked.push_back(getBlockedRanges(problem.obstacles, buffer));
    bufferHashes.push_back({mixBits(2 * i), mixBits(2 * i + 1)});
    smallest = std::min(smallest, buffer.size);
  }
  reset();
}

void Skyline::reset() {
  size_t count = problem.buffers.size();
  floors.assign(problem.numSections, 0);
  tops.assign(problem.numSections, 0);
  bytesLeft.assign(problem.numSections, 0);
  lowest.assign(count, 0);
  offsets.assign(count, -1);
  trail.clear();
  for (const SearchBuffer &buffer : problem.buffers)
    for (int32_t s = buffer.begin; s < buffer.end; ++s)
      bytesLeft[s] += buffer.size;
}

int64_t Skyline::getObstaclesAbove(int32_t section) const {
  const std::vector<SectionObstacle> &here = obstaclesOf[section];
  if (here.empty())
    return 0;
  int64_t floor = floors[section];
  auto below = std::partition_point(
      here.begin(), here.end(),
      [&](const SectionObstacle &obstacle) { return obstacle.high > floor; });
  if (below == here.begin())
    return 0;
  const SectionObstacle &lowest = *std::prev(below);
  return lowest.above + lowest.high - std::max(lowest.low, floor);
}

int64_t Skyline::findLowest(int32_t index) const {
  const SearchBuffer &buffer = problem.buffers[index];
  int64_t offset = 0;
  for (int32_t s = buffer.begin; s < buffer.end; ++s)
    offset = std::max(offset, floors[s]);
  offset = alignUp(offset, buffer.alignment);
  // The ranges are in the order of their addresses, so one pass is enough.
  for (const AddressRange &range : blocked[index]) {
    if (range.begin >= offset + buffer.size)
      break;
    if (offset < range.end)
      offset = alignUp(range.end, buffer.alignment);
  }
  return offset;
}

View Skyline::getView(const Stretch &stretch) const {
  View view;
  view.begin = stretch.begin;
  view.firstBuffer = problem.numBegunBefore[stretch.begin];
  view.end = stretch.end;
  view.lastBuffer = problem.numBegunBefore[stretch.end];
  if (stretch.horizon < view.lastBuffer - view.firstBuffer) {
    int32_t next = problem.buffers[view.firstBuffer + stretch.horizon].begin;
    view.end = std::max(next, stretch.begin + 1);
    view.lastBuffer = problem.numBegunBefore[view.end];
  }
  view.lastEnd =
      std::clamp(problem.lastEndBefore[view.end], view.end, stretch.end);
  return view;
}

bool Skyline::isComplete(const View &view) const {
  return std::all_of(offsets.begin() + view.firstBuffer,
                     offsets.begin() + view.lastBuffer,
                     [](int64_t offset) { return offset >= 0; });
}

/// Raises each section to the lowest offset of any remaining buffer in it. One
/// pass is enough: no section is raised above the lowest offset of a buffer in
/// it, so those offsets do not change.
bool Skyline::raiseFloors(const View &view) {
  constexpr int64_t sky = std::numeric_limits<int64_t>::max();
  std::fill(raised.begin() + view.begin, raised.begin() + view.lastEnd, sky);
  for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
    if (isPlaced(index))
      continue;
    const SearchBuffer &buffer = problem.buffers[index];
    int64_t offset = findLowest(index);
    lowest[index] = offset;
    for (int32_t s = buffer.begin; s < buffer.end; ++s)
      raised[s] = std::min(raised[s], offset);
    work += 4 + buffer.end - buffer.begin +
            static_cast<int64_t>(problem.obstacles.size());
  }
  work += view.lastEnd - view.begin + (view.lastBuffer - view.firstBuffer) / 4;
  for (int32_t s = view.begin; s < view.lastEnd; ++s) {
    // Beyond the view there may be buffers that were not considered.
    if (s < view.end && raised[s] != sky && raised[s] > floors[s]) {
      save(s);
      floors[s] = raised[s];
    }
    if (getSlack(s) < 0)
      return false;
  }
  return true;
}

/// Returns whether a remaining buffer would fit into space that was left empty.
/// The solution with the smallest sum of offsets has no such buffer.
bool Skyline::isDominated(const View &view) const {
  if (!problem.obstacles.empty() || !problem.isUniform)
    return false;
  for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
    if (isPlaced(index))
      continue;
    const SearchBuffer &buffer = problem.buffers[index];
    int64_t top = 0, floor = std::numeric_limits<int64_t>::max();
    for (int32_t s = buffer.begin; s < buffer.end; ++s) {
      top = std::max(top, tops[s]);
      floor = std::min(floor, floors[s]);
    }
    if (top + buffer.size <= floor)
      return true;
  }
  return false;
}

bool Skyline::propagate(const View &view) {
  return raiseFloors(view) && !isDominated(view);
}

std::vector<Stretch> Skyline::split(const Stretch &stretch, const View &view) {
  std::fill(spanning.begin() + view.begin, spanning.begin() + view.lastEnd + 1,
            0);
  // The number of remaining buffers that span the border before each section.
  for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
    if (isPlaced(index))
      continue;
    ++spanning[problem.buffers[index].begin + 1];
    --spanning[problem.buffers[index].end];
  }
  std::vector<Stretch> parts;
  Stretch part = stretch;
  int32_t count = 0;
  for (int32_t s = stretch.begin + 1; s < view.end; ++s) {
    count += spanning[s];
    if (count > 0)
      continue;
    part.end = s;
    if (bytesLeft[part.begin] > 0)
      parts.push_back(part);
    part.begin = s;
  }
  part.end = stretch.end;
  if (bytesLeft[part.begin] > 0 || view.end < stretch.end)
    parts.push_back(part);
  return parts;
}

void Skyline::place(int32_t index, int64_t offset) {
  const SearchBuffer &buffer = problem.buffers[index];
  offsets[index] = offset;
  trail.push_back({-1 - index, 0, 0, 0});
  for (int32_t s = buffer.begin; s < buffer.end; ++s) {
    save(s);
    floors[s] = tops[s] = offset + buffer.size;
    bytesLeft[s] -= buffer.size;
  }
}

int64_t Skyline::getHeightAboveBottom(const View &view, int32_t section) {
  int64_t bottom = floors[section];
  int64_t height = std::numeric_limits<int64_t>::max();
  std::vector<int32_t> left;
  for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
    if (isPlaced(index))
      continue;
    lowest[index] = findLowest(index);
    left.push_back(index);
  }
  for (int32_t index : left) {
    const SearchBuffer &buffer = problem.buffers[index];
    if (section < buffer.begin || section >= buffer.end)
      continue;
    if (lowest[index] > bottom) {
      height = std::min(height, lowest[index]);
      continue;
    }
    // It must rest on a buffer or obstacle that does not extend into the
    // section: a remaining buffer on one side of it, or an obstacle.
    for (int32_t other : left) {
      const SearchBuffer &support = problem.buffers[other];
      bool isAside = (support.begin > section && support.begin < buffer.end) ||
                     (support.end <= section && support.end > buffer.begin);
      if (isAside)
        height = std::min(height, lowest[other] + support.size);
    }
    // It may also rest on a buffer that begins beyond the view.
    if (buffer.end > view.end)
      height = std::min(height, bottom + smallest);
    for (const Obstacle &obstacle : problem.obstacles)
      if (obstacle.begin < buffer.end && buffer.begin < obstacle.end &&
          obstacle.high > bottom)
        height = std::min(height, obstacle.high);
    work += static_cast<int64_t>(left.size());
  }
  return height;
}

void Skyline::raise(int32_t section, int64_t height) {
  save(section);
  floors[section] = height;
}

void Skyline::undo(Mark mark) {
  for (; trail.size() > mark; trail.pop_back()) {
    const Change &change = trail.back();
    if (change.section < 0) {
      offsets[-1 - change.section] = -1;
      continue;
    }
    floors[change.section] = change.floor;
    tops[change.section] = change.top;
    bytesLeft[change.section] = change.left;
  }
}

StateHash Skyline::getHash(const View &view) const {
  StateHash hash;
  for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
    if (isPlaced(index))
      continue;
    hash.low ^= bufferHashes[index].low;
    hash.high ^= bufferHashes[index].high;
  }
  for (int32_t s = view.begin; s < view.lastEnd; ++s) {
    if (bytesLeft[s] == 0)
      continue;
    uint64_t mixed = mixBits(mixBits(static_cast<uint64_t>(floors[s]) * 31 +
                                     static_cast<uint64_t>(s)) ^
                             static_cast<uint64_t>(tops[s]));
    hash.low ^= mixed;
    hash.high ^= mixBits(mixed);
  }
  return hash;
}

} // namespace mf::memory
