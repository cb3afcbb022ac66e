//===- SlicePlan.h - Parts of kept inputs on ranks --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The decision of recompute_slice_activation as a plain value.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_SLICEPLAN_H
#define MF_PASSES_MARK_SLICEPLAN_H

#include "dialects/mf/ShardingRule.h"
#include <string>

namespace mf::passes {

struct SliceDecision {
  /// The axes over which the kept input of a recomputed layer is cut along its
  /// first dimension; empty if each rank keeps all of it.
  ir::Axes axes;
  /// The reason for the decision.
  std::string reason;
  /// True if the user requested something that is not possible.
  bool isWarning = false;
};

/// Decides for a tensor with layout `layout` and `size` rows on each rank. It
/// can only be cut over ranks that hold the same part of it.
SliceDecision planSlice(const ir::MeshSizes &mesh, const ir::Layout &layout,
                        int64_t size);

} // namespace mf::passes

#endif // MF_PASSES_MARK_SLICEPLAN_H
