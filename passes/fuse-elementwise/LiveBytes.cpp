//===- LiveBytes.cpp - Effect of a chain on live bytes --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse-elementwise/LiveBytes.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace mf::passes {

namespace {

/// A launch and the buffers that it uses.
struct Moment {
  int64_t launch;
  llvm::SmallVector<int64_t, 4> reads, writes;
};

/// The launches from a chain's first launch to its last.
using Window = std::vector<Moment>;

/// Flags of the uses of a buffer before and after the window.
struct Outside {
  bool before = false, behind = false;
};

class WindowBytes {
public:
  WindowBytes(const ChainGraph &graph, const BufferUses &uses,
              const PlannedChain &chain)
      : graph(graph), uses(uses), chain(chain), first(chain.launches.front()),
        last(chain.launches.back()) {}

  bool needsMore();

private:
  Moment getMoment(int64_t launch, llvm::ArrayRef<int64_t> inputs,
                   llvm::ArrayRef<int64_t> outputs) const;
  Window getWindow() const;
  Window getWindowWithChain() const;
  void findOutside(const Window &window);
  std::map<int64_t, int64_t> getBytes(const Window &window) const;

  const ChainGraph &graph;
  const BufferUses &uses;
  const PlannedChain &chain;
  int64_t first, last;
  std::map<int64_t, Outside> outside;
};

} // namespace

Moment WindowBytes::getMoment(int64_t launch, llvm::ArrayRef<int64_t> inputs,
                              llvm::ArrayRef<int64_t> outputs) const {
  Moment moment{launch, {}, {}};
  auto add = [&](llvm::ArrayRef<int64_t> values, auto &buffers) {
    for (int64_t value : values) {
      const int64_t buffer = graph.values[value].buffer;
      if (graph.buffers[buffer].isFreed && !llvm::is_contained(buffers, buffer))
        buffers.push_back(buffer);
    }
  };
  add(inputs, moment.reads);
  add(outputs, moment.writes);
  return moment;
}

Window WindowBytes::getWindow() const {
  Window window;
  for (int64_t launch = first; launch <= last; ++launch)
    window.push_back(getMoment(launch, graph.launches[launch].inputs,
                               graph.launches[launch].outputs));
  return window;
}

Window WindowBytes::getWindowWithChain() const {
  Window window;
  for (int64_t launch = first; launch <= last; ++launch)
    if (launch == chain.position)
      window.push_back(
          getMoment(launch, chain.inputs, graph.launches[last].outputs));
    else if (!llvm::is_contained(chain.launches, launch))
      window.push_back(getMoment(launch, graph.launches[launch].inputs,
                                 graph.launches[launch].outputs));
  return window;
}

void WindowBytes::findOutside(const Window &window) {
  for (const Moment &moment : window)
    for (const auto &buffers : {moment.reads, moment.writes})
      for (int64_t buffer : buffers)
        outside.try_emplace(buffer);
  for (auto &[buffer, sides] : outside) {
    sides.before = *uses[buffer].begin() < first;
    sides.behind =
        graph.buffers[buffer].isKept || *uses[buffer].rbegin() > last;
  }
}

/// Returns the live bytes at each launch, of buffers that the window uses.
std::map<int64_t, int64_t> WindowBytes::getBytes(const Window &window) const {
  struct Range {
    size_t begin, end;
  };
  std::map<int64_t, Range> ranges;
  for (auto [place, moment] : llvm::enumerate(window)) {
    auto use = [&, place = place](int64_t buffer, bool isWrite) {
      auto [range, isNew] = ranges.try_emplace(buffer, Range{place, place});
      if (isNew && (outside.at(buffer).before || !isWrite))
        range->second.begin = 0;
      range->second.end = place;
    };
    for (int64_t buffer : moment.reads)
      use(buffer, false);
    for (int64_t buffer : moment.writes)
      use(buffer, true);
  }
  std::map<int64_t, int64_t> bytes;
  for (auto [place, moment] : llvm::enumerate(window)) {
    int64_t &sum = bytes[moment.launch];
    for (const auto &[buffer, range] : ranges)
      if (range.begin <= place &&
          (place <= range.end || outside.at(buffer).behind))
        sum += graph.buffers[buffer].bytes;
    // The result replaces a buffer that is read for the last time.
    for (int64_t written : moment.writes) {
      const Range &range = ranges.at(written);
      const int64_t size = graph.buffers[written].bytes;
      const bool isBorn = range.begin == place && !outside.at(written).before;
      if (isBorn &&
          llvm::any_of(moment.reads, [&, place = place](int64_t read) {
            return graph.buffers[read].bytes == size &&
                   ranges.at(read).end == place && !outside.at(read).behind;
          }))
        sum -= size;
    }
  }
  return bytes;
}

bool WindowBytes::needsMore() {
  const Window window = getWindow();
  findOutside(window);
  const std::map<int64_t, int64_t> before = getBytes(window);
  int64_t most = 0;
  for (int64_t launch : chain.launches)
    most = std::max(most, before.at(launch));
  for (const auto &[launch, bytes] : getBytes(getWindowWithChain()))
    if (bytes > (launch == chain.position ? most : before.at(launch)))
      return true;
  return false;
}

bool needsMore(const ChainGraph &graph, const BufferUses &uses,
               const PlannedChain &chain) {
  return WindowBytes(graph, uses, chain).needsMore();
}

} // namespace mf::passes
