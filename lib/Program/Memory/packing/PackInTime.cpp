//===- PackInTime.cpp - Best fit in order of time -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Packing.h"
#include "StableSort.h"
#include <algorithm>
#include <map>
#include <set>

namespace mf::memory {

namespace {

/// The free blocks of an unbounded address space, for an allocator that always
/// takes the smallest block that is large enough.
class FreeBlocks {
public:
  int64_t allocate(int64_t size, int64_t alignment) {
    for (auto it = bySize.lower_bound({size, 0}); it != bySize.end(); ++it) {
      auto [blockSize, begin] = *it;
      int64_t offset = alignUp(begin, alignment);
      if (offset + size > begin + blockSize)
        continue;
      erase(begin, blockSize);
      insert(begin, offset - begin);
      insert(offset + size, begin + blockSize - offset - size);
      return offset;
    }
    // The topmost block may grow. Otherwise the space above `top` is used.
    int64_t begin = top;
    if (!byAddress.empty()) {
      auto last = std::prev(byAddress.end());
      if (last->first + last->second == top)
        begin = last->first;
    }
    if (begin < top)
      erase(begin, top - begin);
    int64_t offset = alignUp(begin, alignment);
    insert(begin, offset - begin);
    top = offset + size;
    return offset;
  }

  void free(int64_t offset, int64_t size) {
    auto after = byAddress.lower_bound(offset);
    if (after != byAddress.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == offset) {
        auto [begin, blockSize] = *before;
        erase(begin, blockSize);
        offset = begin;
        size += blockSize;
      }
    }
    if (after != byAddress.end() && after->first == offset + size) {
      auto [begin, blockSize] = *after;
      erase(begin, blockSize);
      size += blockSize;
    }
    insert(offset, size);
  }

private:
  void insert(int64_t begin, int64_t size) {
    if (size == 0)
      return;
    byAddress.emplace(begin, size);
    bySize.emplace(size, begin);
  }
  void erase(int64_t begin, int64_t size) {
    byAddress.erase(begin);
    bySize.erase({size, begin});
  }

  std::map<int64_t, int64_t> byAddress;
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t top = 0;
};

} // namespace

PackResult packInTime(const PackProblem &problem) {
  const std::vector<PackItem> &items = problem.items;
  std::vector<int32_t> begins = getOrder(problem, PackOrder::Begin, {});
  std::vector<int32_t> ends =
      getSortedIndices<int32_t>(items.size(), [&](int32_t a, int32_t b) {
        return items[a].end < items[b].end;
      });
  PackResult result;
  result.offsets.resize(items.size(), 0);
  FreeBlocks blocks;
  size_t nextEnd = 0;
  for (int32_t index : begins) {
    const PackItem &item = items[index];
    if (item.size == 0)
      continue;
    for (; items[ends[nextEnd]].end <= item.begin; ++nextEnd)
      if (items[ends[nextEnd]].size > 0)
        blocks.free(result.offsets[ends[nextEnd]], items[ends[nextEnd]].size);
    int64_t offset = blocks.allocate(item.size, item.alignment);
    result.offsets[index] = offset;
    result.peak = std::max(result.peak, offset + item.size);
  }
  return result;
}

} // namespace mf::memory
