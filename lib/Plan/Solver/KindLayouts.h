//===- KindLayouts.h - Chunks in which kinds of layers end ------*- C++ -*-===//
//
// Kinds of layers follow one another. Once it is given in which chunk each kind
// ends, it is known which kinds a chunk may have, and nothing but the numbers
// of layers of each kind ties the stages together.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_KINDLAYOUTS_H
#define MF_LIB_PLAN_KINDLAYOUTS_H

#include "Ticks.h"

namespace mf::plan {

/// Numbers of layers, both included.
struct LayerRange {
  int64_t least = 0, most = 0;

  bool operator==(const LayerRange &other) const {
    return least == other.least && most == other.most;
  }
};

/// By chunk: all numbers of layers that can be.
std::vector<LayerRange> getAllRanges(const TickProblem &problem);
/// The ranges restricted to numbers at most `width` from the mean.
std::vector<LayerRange> getMeanRanges(const TickProblem &problem,
                                      int64_t width);

class KindLayouts {
public:
  /// All layouts that chunks with numbers of layers in the given ranges allow.
  KindLayouts(const TickProblem &problem, std::vector<LayerRange> ranges);

  size_t size() const { return layouts.size(); }
  const LayerRange &getRange(int64_t chunk) const { return ranges[chunk]; }

  /// Tells whether a chunk may have these layers of each kind.
  bool allows(size_t layout, int64_t chunk,
              llvm::ArrayRef<int64_t> layers) const;
  /// Whether some layout allows this.
  bool allows(int64_t chunk, llvm::ArrayRef<int64_t> layers) const;

private:
  /// The chunk with the last layer of each kind.
  using Layout = std::vector<int64_t>;
  void addLayouts(Layout &layout);

  std::vector<LayerRange> ranges;
  /// Kinds that have layers.
  std::vector<size_t> kinds;
  std::vector<int64_t> counts;
  std::vector<Layout> layouts;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_KINDLAYOUTS_H
