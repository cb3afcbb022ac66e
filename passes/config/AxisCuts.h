//===- AxisCuts.h - Axes of ranks that are cut in factors ------*- C++ -*-===//
//
// Experts and optimizer shards are for ranks that are neighbours, whatever axes
// they are of. Where such a group ends within an axis, the mesh has that axis
// in factors. No IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_AXISCUTS_H
#define MF_PASSES_CONFIG_AXISCUTS_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>

namespace mf::passes {

/// An axis of one key of parallel_config, and where it is cut in two: numbers
/// of neighbours, each a divisor or a multiple of the others.
struct NamedAxis {
  std::string name;
  int64_t size;
  llvm::SmallVector<int64_t> cuts;
};

/// Ranks along an axis: `size` of them, each `stride` from the next.
struct AxisSpan {
  NamedAxis *axis;
  int64_t stride, size;
};

/// Takes the `size` inner ranks off `spans` (the outer ones first) and cuts the
/// axis within which they end. False, and nothing is changed, if they are no
/// product of whole factors.
bool takeInnerRanks(llvm::SmallVectorImpl<AxisSpan> &spans, int64_t size);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_AXISCUTS_H
