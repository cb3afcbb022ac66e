//===- KindLayouts.cpp - Chunks in which kinds of layers end --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KindLayouts.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::solver {

/// The largest number of chunks, summed over all layouts, that are stored.
/// Published problems have fewer than a hundred.
static constexpr size_t mostEnds = 2'000'000;

std::vector<LayerRange> getAllRanges(const TickProblem &problem) {
  const Problem &given = problem.get();
  int64_t chunks = problem.getNumChunks(), least = given.minLayersPerChunk;
  int64_t most = given.getNumLayers() - (chunks - 1) * least;
  if (given.maxLayersPerChunk > 0)
    most = std::min(most, given.maxLayersPerChunk);
  std::vector<LayerRange> ranges(chunks, {least, most});
  for (auto [range, fixed] : llvm::zip(ranges, given.fixedLayers))
    range = {fixed, fixed};
  return ranges;
}

std::vector<LayerRange> getMeanRanges(const TickProblem &problem,
                                      int64_t width) {
  std::vector<LayerRange> ranges = getAllRanges(problem);
  if (!problem.get().fixedLayers.empty())
    return ranges;
  int64_t mean = problem.get().getNumLayers() / problem.getNumChunks();
  for (LayerRange &range : ranges)
    range = {std::max(range.least, mean - width),
             std::min(range.most, mean + 1 + width)};
  return ranges;
}

KindLayouts::KindLayouts(const TickProblem &problem,
                         std::vector<LayerRange> ranges)
    : ranges(std::move(ranges)) {
  for (auto [kind, layers] : llvm::enumerate(problem.get().kinds)) {
    counts.push_back(layers.count);
    if (layers.count > 0)
      kinds.push_back(kind);
  }
  Layout layout;
  addLayouts(layout);
}

void KindLayouts::addLayouts(Layout &layout) {
  if (kinds.empty() || isFull)
    return;
  auto numChunks = static_cast<int64_t>(ranges.size());
  // The last kind ends at the last layer.
  if (layout.size() + 1 == kinds.size()) {
    isFull = layouts.size() * kinds.size() >= mostEnds;
    if (!isFull)
      layouts.push_back(layout);
    return;
  }
  auto sum = [&](int64_t begin, int64_t end, int64_t LayerRange::*bound) {
    int64_t total = 0;
    for (int64_t chunk = begin; chunk < end; ++chunk)
      total += ranges[chunk].*bound;
    return total;
  };
  int64_t before = 0, behind = 0;
  for (auto [index, kind] : llvm::enumerate(kinds))
    (index <= layout.size() ? before : behind) += counts[kind];
  for (int64_t chunk = layout.empty() ? 0 : layout.back(); chunk < numChunks;
       ++chunk) {
    // The layers up to the end must fit into the chunks up to it and fill the
    // chunks before it. The same must hold for the layers after it.
    if (sum(0, chunk, &LayerRange::least) >= before ||
        sum(0, chunk + 1, &LayerRange::most) < before ||
        sum(chunk + 1, numChunks, &LayerRange::least) > behind ||
        sum(chunk, numChunks, &LayerRange::most) <= behind)
      continue;
    layout.push_back(chunk);
    addLayouts(layout);
    layout.pop_back();
  }
}

bool KindLayouts::allows(size_t layout, int64_t chunk,
                         llvm::ArrayRef<int64_t> layers) const {
  llvm::ArrayRef<int64_t> ends = layouts[layout];
  for (auto [index, kind] : llvm::enumerate(kinds)) {
    bool isBegun = index == 0 || ends[index - 1] <= chunk;
    bool isEnded = index < ends.size() && ends[index] < chunk;
    if (layers[kind] > 0 && (!isBegun || isEnded))
      return false;
    if (layers[kind] == 0 && index < ends.size() && ends[index] == chunk)
      return false;
  }
  return true;
}

bool KindLayouts::allows(int64_t chunk, llvm::ArrayRef<int64_t> layers) const {
  for (size_t layout = 0; layout < layouts.size(); ++layout)
    if (allows(layout, chunk, layers))
      return true;
  return false;
}

} // namespace mf::solver
