//===- PackOrder.cpp - Orders in which items are taken ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Packing.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace mf::memory {

PackProblem compressLifetimes(llvm::ArrayRef<AllocationBuffer> buffers,
                              std::vector<int64_t> *times) {
  std::vector<int64_t> points;
  points.reserve(buffers.size() * 2);
  for (const AllocationBuffer &buffer : buffers) {
    points.push_back(buffer.lower);
    points.push_back(buffer.upper);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());

  auto sectionOf = [&](int64_t time) {
    return static_cast<int32_t>(
        std::lower_bound(points.begin(), points.end(), time) - points.begin());
  };
  PackProblem problem;
  problem.items.reserve(buffers.size());
  for (const AllocationBuffer &buffer : buffers) {
    PackItem item;
    item.begin = sectionOf(buffer.lower);
    item.end = sectionOf(buffer.upper);
    item.size = buffer.size;
    item.alignment = buffer.alignment;
    item.fixedOffset = buffer.fixedOffset.value_or(-1);
    item.hint = buffer.hint.value_or(-1);
    problem.items.push_back(item);
  }
  problem.numSections =
      points.empty() ? 0 : static_cast<int32_t>(points.size() - 1);
  if (times)
    *times = std::move(points);
  return problem;
}

int64_t getGranule(const PackProblem &problem) {
  int64_t granule = 0;
  for (const PackItem &item : problem.items)
    if (item.size > 0)
      granule = std::gcd(granule, item.alignment);
  return std::max<int64_t>(1, granule);
}

std::vector<int64_t> getLiveProfile(const PackProblem &problem) {
  std::vector<int64_t> profile(problem.numSections + 1, 0);
  for (const PackItem &item : problem.items) {
    profile[item.begin] += item.size;
    profile[item.end] -= item.size;
  }
  std::partial_sum(profile.begin(), profile.end(), profile.begin());
  profile.resize(problem.numSections);
  return profile;
}

namespace {

/// Returns the largest profile value in the sections of each item.
std::vector<int64_t> getContention(const PackProblem &problem,
                                   llvm::ArrayRef<int64_t> profile) {
  // A sparse table: levels[k][i] is the maximum of 2^k sections from i on.
  std::vector<std::vector<int64_t>> levels(1, profile.vec());
  for (size_t width = 2; width <= profile.size(); width *= 2) {
    const std::vector<int64_t> &below = levels.back();
    std::vector<int64_t> level(profile.size() - width + 1);
    for (size_t i = 0; i < level.size(); ++i)
      level[i] = std::max(below[i], below[i + width / 2]);
    levels.push_back(std::move(level));
  }
  std::vector<int64_t> contention;
  contention.reserve(problem.items.size());
  for (const PackItem &item : problem.items) {
    int32_t length = item.end - item.begin;
    int level = 31 - __builtin_clz(static_cast<uint32_t>(length));
    contention.push_back(std::max(levels[level][item.begin],
                                  levels[level][item.end - (1 << level)]));
  }
  return contention;
}

} // namespace

llvm::StringRef getName(PackOrder order) {
  static constexpr llvm::StringLiteral names[] = {
      "contention", "size", "area", "lifetime", "begin", "end", "hint"};
  return names[static_cast<size_t>(order)];
}

std::vector<int32_t> getOrder(const PackProblem &problem, PackOrder order,
                              llvm::ArrayRef<int64_t> profile) {
  const std::vector<PackItem> &items = problem.items;
  // Keys compare in descending order, then begins in ascending order.
  struct Key {
    double first, second;
    int32_t begin, index;
  };
  std::vector<int64_t> contention;
  if (order == PackOrder::Contention)
    contention = getContention(problem, profile);
  std::vector<Key> keys;
  keys.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const PackItem &item = items[i];
    double size = static_cast<double>(item.size);
    double length = item.end - item.begin;
    Key key = {0, 0, item.begin, static_cast<int32_t>(i)};
    switch (order) {
    case PackOrder::Contention:
      key.first = static_cast<double>(contention[i]);
      key.second = size;
      break;
    case PackOrder::Size:
      key.first = size;
      key.second = length;
      break;
    case PackOrder::Area:
      key.first = size * length;
      key.second = size;
      break;
    case PackOrder::Lifetime:
      key.first = length;
      key.second = size;
      break;
    case PackOrder::Begin:
      key.first = -item.begin;
      key.second = length;
      break;
    case PackOrder::End:
      key.first = item.end;
      key.second = length;
      break;
    case PackOrder::Hint:
      key.first = item.hint >= 0 ? -static_cast<double>(item.hint)
                                 : -std::numeric_limits<double>::infinity();
      key.second = size;
      break;
    }
    keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end(), [](const Key &a, const Key &b) {
    if (a.first != b.first)
      return a.first > b.first;
    if (a.second != b.second)
      return a.second > b.second;
    if (a.begin != b.begin)
      return a.begin < b.begin;
    return a.index < b.index;
  });
  std::vector<int32_t> indices;
  indices.reserve(keys.size());
  for (const Key &key : keys)
    indices.push_back(key.index);
  return indices;
}

} // namespace mf::memory
