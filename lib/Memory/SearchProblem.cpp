//===- SearchProblem.cpp - A problem made ready for search ----------------===//

#include "SearchProblem.h"
#include "Packing.h"
#include <algorithm>
#include <numeric>

namespace mf::memory {

/// By section: the maximal section that it belongs to. A new one starts when
/// something begins after something has ended.
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

SearchProblem makeSearchProblem(const AllocationProblem &problem,
                                int64_t capacity) {
  PackProblem pack = compressLifetimes(problem.buffers);
  std::vector<int32_t> maximal = getMaximalSections(pack);
  int64_t granule = 0;
  for (const Buffer &buffer : problem.buffers)
    if (buffer.size > 0)
      granule = std::gcd(granule, buffer.alignment);

  SearchProblem search;
  if (granule == 0)
    return search;
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
  std::sort(search.obstacles.begin(), search.obstacles.end(),
            [](const Obstacle &a, const Obstacle &b) {
              return std::tie(a.low, a.begin) < std::tie(b.low, b.begin);
            });
  search.isExact &= search.isUniform;
  return search;
}

} // namespace mf::memory
