//===- Skyline.cpp - A partial packing built from below -------------------===//

#include "Skyline.h"
#include "Packing.h"
#include <algorithm>
#include <numeric>

namespace mf::memory {

/// The finalizer of SplitMix64 (Steele et al., 2014).
static uint64_t mixBits(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

Skyline::Skyline(const SearchProblem &problem)
    : problem(problem), obstaclesOf(problem.numSections),
      raised(problem.numSections), spanning(problem.numSections + 1) {
  for (size_t i = 0; i < problem.obstacles.size(); ++i)
    for (int32_t s = problem.obstacles[i].begin; s < problem.obstacles[i].end;
         ++s)
      obstaclesOf[s].push_back(static_cast<int32_t>(i));
  for (uint64_t i = 0; i < problem.buffers.size(); ++i)
    bufferHashes.push_back({mixBits(2 * i), mixBits(2 * i + 1)});
  reset();
}

void Skyline::reset() {
  size_t count = problem.buffers.size();
  floors.assign(problem.numSections, 0);
  tops.assign(problem.numSections, 0);
  bytesLeft.assign(problem.numSections, 0);
  lowest.assign(count, 0);
  offsets.assign(count, 0);
  left.resize(count);
  std::iota(left.begin(), left.end(), 0);
  positions = left;
  trail.clear();
  for (const SearchBuffer &buffer : problem.buffers)
    for (int32_t s = buffer.begin; s < buffer.end; ++s)
      bytesLeft[s] += buffer.size;
}

int64_t Skyline::getObstaclesAbove(int32_t section) const {
  int64_t bytes = 0;
  for (int32_t index : obstaclesOf[section]) {
    const Obstacle &obstacle = problem.obstacles[index];
    if (obstacle.high > floors[section])
      bytes += obstacle.high - std::max(obstacle.low, floors[section]);
  }
  return bytes;
}

int64_t Skyline::findLowest(const SearchBuffer &buffer) const {
  int64_t offset = 0;
  for (int32_t s = buffer.begin; s < buffer.end; ++s)
    offset = std::max(offset, floors[s]);
  offset = alignUp(offset, buffer.alignment);
  // Obstacles come in order of their low ends, so one pass is enough.
  for (const Obstacle &obstacle : problem.obstacles)
    if (obstacle.begin < buffer.end && buffer.begin < obstacle.end &&
        obstacle.low < offset + buffer.size && offset < obstacle.high)
      offset = alignUp(obstacle.high, buffer.alignment);
  return offset;
}

/// Raises each section to the lowest offset of any buffer left in it.
bool Skyline::raiseFloors(const Stretch &stretch, bool &changed) {
  constexpr int64_t sky = std::numeric_limits<int64_t>::max();
  std::fill(raised.begin() + stretch.begin, raised.begin() + stretch.end, sky);
  for (int32_t index : getBuffers(stretch)) {
    const SearchBuffer &buffer = problem.buffers[index];
    int64_t offset = findLowest(buffer);
    lowest[index] = offset;
    for (int32_t s = buffer.begin; s < buffer.end; ++s)
      raised[s] = std::min(raised[s], offset);
    work += 4 + buffer.end - buffer.begin +
            static_cast<int64_t>(problem.obstacles.size());
  }
  changed = false;
  for (int32_t s = stretch.begin; s < stretch.end; ++s) {
    if (raised[s] != sky && raised[s] > floors[s]) {
      save(s);
      floors[s] = raised[s];
      changed = true;
    }
    if (getSlack(s) < 0)
      return false;
  }
  return true;
}

/// Tells whether a buffer left would fit into space left empty. The solution
/// with the smallest sum of offsets has no such buffer.
bool Skyline::isDominated(const Stretch &stretch) const {
  if (!problem.obstacles.empty() || !problem.isUniform)
    return false;
  for (int32_t index : getBuffers(stretch)) {
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

bool Skyline::propagate(const Stretch &stretch) {
  bool changed = true;
  while (changed)
    if (!raiseFloors(stretch, changed))
      return false;
  return !isDominated(stretch);
}

std::vector<Stretch> Skyline::split(const Stretch &stretch) {
  auto begin = spanning.begin() + stretch.begin;
  std::fill(begin, spanning.begin() + stretch.end + 1, 0);
  // How many buffers left span the border below each section.
  for (int32_t index : getBuffers(stretch)) {
    const SearchBuffer &buffer = problem.buffers[index];
    ++spanning[buffer.begin + 1];
    --spanning[buffer.end];
  }
  std::vector<Stretch> parts;
  Stretch part = {stretch.begin, stretch.begin, stretch.firstBuffer,
                  stretch.firstBuffer};
  int32_t count = 0;
  for (int32_t s = stretch.begin + 1; s <= stretch.end; ++s) {
    count += spanning[s];
    if (s < stretch.end && count > 0)
      continue;
    part.end = s;
    if (bytesLeft[part.begin] > 0)
      parts.push_back(part);
    part.begin = s;
  }
  if (parts.size() <= 1) {
    for (Stretch &only : parts)
      only.lastBuffer = stretch.lastBuffer;
    return parts;
  }
  // Sort the buffers by part.
  auto first = left.begin() + stretch.firstBuffer;
  auto last = left.begin() + stretch.lastBuffer;
  std::sort(first, last, [&](int32_t a, int32_t b) {
    return std::tie(problem.buffers[a].begin, a) <
           std::tie(problem.buffers[b].begin, b);
  });
  for (int32_t i = stretch.firstBuffer; i < stretch.lastBuffer; ++i)
    positions[left[i]] = i;
  int32_t next = stretch.firstBuffer;
  for (Stretch &each : parts) {
    each.firstBuffer = next;
    while (next < stretch.lastBuffer &&
           problem.buffers[left[next]].begin < each.end)
      ++next;
    each.lastBuffer = next;
  }
  return parts;
}

Stretch Skyline::place(const Stretch &stretch, int32_t index, int64_t offset) {
  const SearchBuffer &buffer = problem.buffers[index];
  offsets[index] = offset;
  for (int32_t s = buffer.begin; s < buffer.end; ++s) {
    save(s);
    floors[s] = tops[s] = offset + buffer.size;
    bytesLeft[s] -= buffer.size;
  }
  // The last place of the stretch's range is no longer part of the child's.
  Stretch rest = stretch;
  --rest.lastBuffer;
  int32_t other = left[rest.lastBuffer];
  std::swap(left[positions[index]], left[rest.lastBuffer]);
  std::swap(positions[index], positions[other]);
  return rest;
}

int64_t Skyline::getHeightAboveBottom(const Stretch &stretch, int32_t section) {
  constexpr int64_t sky = std::numeric_limits<int64_t>::max();
  int64_t bottom = floors[section], height = sky;
  for (int32_t index : getBuffers(stretch))
    lowest[index] = findLowest(problem.buffers[index]);
  for (int32_t index : getBuffers(stretch)) {
    const SearchBuffer &buffer = problem.buffers[index];
    if (section < buffer.begin || section >= buffer.end)
      continue;
    if (lowest[index] > bottom) {
      height = std::min(height, lowest[index]);
      continue;
    }
    // It must stand on something that does not reach into the section: a
    // buffer left on one side of it, or an obstacle.
    for (int32_t other : getBuffers(stretch)) {
      const SearchBuffer &support = problem.buffers[other];
      bool isAside = (support.begin > section && support.begin < buffer.end) ||
                     (support.end <= section && support.end > buffer.begin);
      if (isAside)
        height = std::min(height, lowest[other] + support.size);
    }
    for (const Obstacle &obstacle : problem.obstacles)
      if (obstacle.begin < buffer.end && buffer.begin < obstacle.end &&
          obstacle.high > bottom)
        height = std::min(height, obstacle.high);
    work += stretch.lastBuffer - stretch.firstBuffer;
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
    floors[change.section] = change.floor;
    tops[change.section] = change.top;
    bytesLeft[change.section] = change.left;
  }
}

StateHash Skyline::getHash(const Stretch &stretch) const {
  StateHash hash;
  for (int32_t index : getBuffers(stretch)) {
    hash.low ^= bufferHashes[index].low;
    hash.high ^= bufferHashes[index].high;
  }
  for (int32_t s = stretch.begin; s < stretch.end; ++s) {
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
