//===- SlicePlan.h - Parts of kept inputs on ranks --------------*- C++ -*-===//
//
// recompute_slice_activation as a plain value.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_SLICEPLAN_H
#define MF_PASSES_MARK_SLICEPLAN_H

#include "dialects/mf/ShardingRule.h"
#include <string>

namespace mf::passes {

struct SliceDecision {
  /// Over which ranks the kept input of a recomputed layer is cut along its
  /// first dimension; empty if each keeps all of it.
  ir::Axes axes;
  /// Why.
  std::string reason;
  /// The user asked for what cannot be.
  bool isWarning = false;
};

/// Decides for a tensor of `size` rows on each rank that lies as `layout`. Only
/// ranks that have the same part of it can share that out.
SliceDecision planSlice(const ir::MeshSizes &mesh, const ir::Layout &layout,
                        int64_t size);

} // namespace mf::passes

#endif // MF_PASSES_MARK_SLICEPLAN_H
