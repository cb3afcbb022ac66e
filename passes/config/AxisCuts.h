//===- AxisCuts.h - Axes of ranks that are split into factors ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Experts and optimizer shards belong to ranks that are neighbours, whatever
// axes these are on. If such a group ends within an axis, the mesh has that
// axis as several factors. This file does not depend on IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_AXISCUTS_H
#define MF_PASSES_CONFIG_AXISCUTS_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>

namespace mf::passes {

/// The axis of one key of parallel_config, and where it is split: numbers of
/// neighbouring ranks, each a divisor or a multiple of the others.
struct NamedAxis {
  std::string name;
  int64_t size;
  llvm::SmallVector<int64_t> cuts;
};

/// A range of ranks along an axis: `size` ranks at distance `stride`.
struct AxisSpan {
  NamedAxis *axis;
  int64_t stride, size;
};

/// Removes the `size` inner ranks from `spans` (outermost first) and splits the
/// axis within which they end. Returns false, without changes, if they are not
/// a product of whole factors.
bool takeInnerRanks(llvm::SmallVectorImpl<AxisSpan> &spans, int64_t size);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_AXISCUTS_H
