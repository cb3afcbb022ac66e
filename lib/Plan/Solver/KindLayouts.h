//===- KindLayouts.h - Chunks in which kinds of layers end ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Layers of the same kind are consecutive. Given the chunks in which each kind
// ends, the kinds of each chunk are known, and the stages only depend on each
// other through the numbers of layers of each kind.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_KINDLAYOUTS_H
#define MF_LIB_PLAN_SOLVER_KINDLAYOUTS_H

#include "Ticks.h"

namespace mf::solver {

/// A range of numbers of layers, with both ends included.
struct LayerRange {
  int64_t least = 0, most = 0;

  bool operator==(const LayerRange &other) const {
    return least == other.least && most == other.most;
  }
};

/// Returns all possible numbers of layers of each chunk.
std::vector<LayerRange> getAllRanges(const TickProblem &problem);
/// Returns the ranges, restricted to numbers at most `width` from the mean.
std::vector<LayerRange> getMeanRanges(const TickProblem &problem,
                                      int64_t width);

class KindLayouts {
public:
  /// Makes all layouts that are possible if chunks have numbers of layers in
  /// the given ranges.
  KindLayouts(const TickProblem &problem, std::vector<LayerRange> ranges);

  size_t size() const { return layouts.size(); }
  /// Returns whether there are too many layouts to store, so that some are
  /// missing.
  bool areTooMany() const { return isFull; }
  const LayerRange &getRange(int64_t chunk) const { return ranges[chunk]; }

  /// Returns whether a chunk may have these layers of each kind in a layout.
  bool allows(size_t layout, int64_t chunk,
              llvm::ArrayRef<int64_t> layers) const;
  /// Returns whether any layout allows these layers of a chunk.
  bool allows(int64_t chunk, llvm::ArrayRef<int64_t> layers) const;

private:
  /// The chunk with the last layer of each kind.
  using Layout = std::vector<int64_t>;
  bool isFull = false;
  void addLayouts(Layout &layout);

  std::vector<LayerRange> ranges;
  /// Kinds that have layers.
  std::vector<size_t> kinds;
  std::vector<int64_t> counts;
  std::vector<Layout> layouts;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_KINDLAYOUTS_H
