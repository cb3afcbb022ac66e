//===- PackInSlots.cpp - Slots for items of a few sizes -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StableSort.h"
#include "lib/Program/Memory/search/PackSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace mf::memory {

namespace {

using Indices = std::vector<size_t>;

/// Returns the number of given items that are live in each section.
std::vector<int64_t> getDepth(const PackProblem &problem,
                              const Indices &indices) {
  std::vector<int64_t> depth(problem.numSections + 1, 0);
  for (size_t index : indices) {
    ++depth[problem.items[index].begin];
    --depth[problem.items[index].end];
  }
  std::partial_sum(depth.begin(), depth.end(), depth.begin());
  depth.pop_back();
  return depth;
}

/// Chooses items such that in each section at least `least` and at most `most`
/// of them are live. The chosen items are the arcs of a flow of `most` units
/// through time. A unit is a slot, which holds an item or is empty. The
/// sections limit the number of empty slots.
class SlotFlow {
public:
  SlotFlow(const PackProblem &problem, const Indices &candidates,
           const std::vector<int64_t> &least, int64_t most)
      : problem(problem), candidates(candidates), most(most),
        isChosen(candidates.size(), 0), emptySlots(least.size(), 0),
        capacity(least.size()), beginning(least.size() + 1),
        ending(least.size() + 1) {
    for (size_t section = 0; section < least.size(); ++section)
      capacity[section] = most - std::max<int64_t>(0, least[section]);
    for (const auto &[arc, index] : llvm::enumerate(candidates)) {
      beginning[problem.items[index].begin].push_back(arc);
      ending[problem.items[index].end].push_back(arc);
    }
  }

  /// Returns the chosen items, or nothing if there is no such choice.
  std::optional<Indices> run() {
    for (int64_t unit = 0; unit < most; ++unit)
      if (!augment())
        return std::nullopt;
    Indices chosen;
    for (const auto &[arc, index] : llvm::enumerate(candidates))
      if (isChosen[arc])
        chosen.push_back(index);
    return chosen;
  }

private:
  /// How a node (the start of a section) was reached: along a candidate,
  /// forward or backward in time, or along the empty slot of a section.
  struct Hop {
    enum Kind { None, Start, Item, ItemBack, Empty, EmptyBack } kind = None;
    size_t arc = 0;
    int32_t from = 0;
  };

  bool augment();
  void visitNeighbours(int32_t node);
  void reach(int32_t node, Hop::Kind kind, size_t arc, int32_t from) {
    if (hops[node].kind != Hop::None)
      return;
    hops[node] = {kind, arc, from};
    pending.push_back(node);
  }

  const PackProblem &problem;
  const Indices &candidates;
  int64_t most;
  std::vector<char> isChosen;
  std::vector<int64_t> emptySlots;
  /// For each section, the number of slots that may be empty.
  std::vector<int64_t> capacity;
  /// For each node, the candidates that begin and end there.
  std::vector<std::vector<size_t>> beginning;
  std::vector<std::vector<size_t>> ending;
  std::vector<Hop> hops;
  std::vector<int32_t> pending;
};

void SlotFlow::visitNeighbours(int32_t node) {
  // The node that was reached last is visited first, so that the search moves
  // forward along items.
  if (node > 0 && emptySlots[node - 1] > 0)
    reach(node - 1, Hop::EmptyBack, node - 1, node);
  for (size_t arc : ending[node])
    if (isChosen[arc])
      reach(problem.items[candidates[arc]].begin, Hop::ItemBack, arc, node);
  if (node < problem.numSections && emptySlots[node] < capacity[node])
    reach(node + 1, Hop::Empty, node, node);
  for (size_t arc : beginning[node])
    if (!isChosen[arc])
      reach(problem.items[candidates[arc]].end, Hop::Item, arc, node);
}

/// Sends one more unit from the start to the end of time.
bool SlotFlow::augment() {
  hops.assign(problem.numSections + 1, Hop());
  pending.clear();
  reach(0, Hop::Start, 0, 0);
  while (!pending.empty() && hops[problem.numSections].kind == Hop::None) {
    int32_t node = pending.back();
    pending.pop_back();
    visitNeighbours(node);
  }
  if (hops[problem.numSections].kind == Hop::None)
    return false;
  for (int32_t node = problem.numSections; hops[node].kind != Hop::Start;
       node = hops[node].from) {
    const Hop &hop = hops[node];
    if (hop.kind == Hop::Item || hop.kind == Hop::ItemBack)
      isChosen[hop.arc] = hop.kind == Hop::Item ? 1 : 0;
    else
      emptySlots[hop.arc] += hop.kind == Hop::Empty ? 1 : -1;
  }
  return true;
}

/// Assigns the items (in order of begin) to slots of one size from `base` on.
/// Returns the end of the last slot.
int64_t fillSlots(const PackProblem &problem, const Indices &indices,
                  int64_t base, int64_t slotSize, PackResult &result) {
  /// For each slot, the time at which it is free again.
  std::vector<int32_t> freeFrom;
  for (size_t index : indices) {
    const PackItem &item = problem.items[index];
    size_t slot = 0;
    while (slot < freeFrom.size() && freeFrom[slot] > item.begin)
      ++slot;
    if (slot == freeFrom.size())
      freeFrom.push_back(0);
    freeFrom[slot] = item.end;
    result.offsets[index] = base + static_cast<int64_t>(slot) * slotSize;
    result.peak = std::max(result.peak, result.offsets[index] + item.size);
  }
  return base + static_cast<int64_t>(freeFrom.size()) * slotSize;
}

/// Takes members of `rest` with a size of at most `size` that can fill slots of
/// that size, such that `numSlots` slots in total are enough and as many as
/// possible have that size. `numSlots` is set to the number left for the
/// others.
Indices takeForSlots(const PackProblem &problem, int64_t size, Indices &rest,
                     int64_t &numSlots) {
  Indices candidates, others;
  for (size_t index : rest)
    (problem.items[index].size <= size ? candidates : others).push_back(index);
  std::vector<int64_t> depth = getDepth(problem, rest);
  // More slots for the others make it easier, because a path of the flow can be
  // removed. Hence bisection works.
  int64_t low = getLargest(getDepth(problem, others)), high = numSlots;
  Indices taken;
  while (low < high) {
    int64_t forOthers = (low + high) / 2;
    std::vector<int64_t> least = depth;
    for (int64_t &count : least)
      count -= forOthers;
    std::optional<Indices> chosen =
        SlotFlow(problem, candidates, least, numSlots - forOthers).run();
    if (!chosen) {
      low = forOthers + 1;
      continue;
    }
    taken = std::move(*chosen);
    high = forOthers;
  }
  numSlots = high;
  llvm::erase_if(rest, [&](size_t index) {
    return std::binary_search(taken.begin(), taken.end(), index);
  });
  return taken;
}

} // namespace

std::optional<PackResult> packInSlots(const PackProblem &problem) {
  constexpr size_t fewSizes = 16;
  if (!problem.walls.empty())
    return std::nullopt;
  Indices rest;
  std::vector<int64_t> sizes;
  int64_t alignment = 1;
  for (const auto &[index, item] : llvm::enumerate(problem.items)) {
    if (item.fixedOffset >= 0)
      return std::nullopt;
    if (item.size == 0)
      continue;
    rest.push_back(index);
    alignment = std::max(alignment, item.alignment);
    if (sizes.size() <= fewSizes && !llvm::is_contained(sizes, item.size))
      sizes.push_back(item.size);
  }
  if (sizes.empty() || sizes.size() > fewSizes)
    return std::nullopt;
  for (size_t index : rest)
    if (alignment % problem.items[index].alignment != 0)
      return std::nullopt;

  std::sort(sizes.begin(), sizes.end());
  PackResult result;
  result.offsets.assign(problem.items.size(), 0);
  auto byBegin = [&](size_t a, size_t b) {
    return problem.items[a].begin < problem.items[b].begin;
  };
  int64_t numSlots = getLargest(getDepth(problem, rest)), base = 0;
  for (int64_t size : sizes) {
    Indices taken = rest;
    if (size != sizes.back())
      taken = takeForSlots(problem, size, rest, numSlots);
    sortIndices(taken, byBegin);
    base = fillSlots(problem, taken, base, alignUp(size, alignment), result);
  }
  return result;
}

} // namespace mf::memory
