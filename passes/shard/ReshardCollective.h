//===- ReshardCollective.h - The collective for one mf.reshard --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SHARD_RESHARDCOLLECTIVE_H
#define MF_PASSES_SHARD_RESHARDCOLLECTIVE_H

#include "dialects/mf/ShardingRule.h"
#include <optional>
#include <vector>

namespace mf::passes {

enum class ReshardKind {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  OwnPart,
  Mirror
};

struct ReshardCollective {
  ReshardKind kind;
  ir::Axes axes;
  /// The dimension that is cut or gathered. For an all-to-all, the one that is
  /// cut.
  int64_t dim = 0;
  /// For an all-to-all, the dimension that is gathered.
  int64_t concat = 0;
  /// For an all-gather, whether the result is replicated rather than reduced.
  bool replicated = false;
};

/// Returns the single collective between two layouts; none if one collective is
/// not enough.
std::optional<ReshardCollective> getReshardCollective(const ir::Layout &from,
                                                      const ir::Layout &to);

/// Returns the layouts from one to the other. Each differs from the previous
/// one by one operation: a collective over one group along one dimension, a
/// local part or a view. None if there is no path.
std::optional<std::vector<ir::Layout>> getReshardPath(const ir::Layout &from,
                                                      const ir::Layout &to);

/// Returns the layout of the result of `collective` on a tensor with layout
/// `from`.
ir::Layout applyReshard(const ir::Layout &from,
                        const ReshardCollective &collective);

/// Returns whether the collective cuts or gathers a dimension, in the order of
/// its axes. Otherwise the axes are a sorted set.
bool isAlongDimension(ReshardKind kind);

/// Returns the name, for example "reduce_scatter".
llvm::StringRef getName(ReshardKind kind);

// Suppose that axes [dp, mp] cut a dimension, and that after a reshard dp cuts
// another dimension and mp none. The ranks of dp cannot exchange parts before
// those of mp have gathered theirs, because the received parts would not be
// contiguous in the dimension. If it is viewed as two dimensions, cut by dp and
// by mp, each needs one collective, and less is sent.

/// Views dimension `dim` as `outer` times the rest.
struct DimensionSplit {
  size_t dim;
  int64_t outer;
};

/// Returns how to view a tensor of `shape` during a reshard between two
/// layouts; none if it needs no view.
std::optional<DimensionSplit> findDimensionSplit(llvm::ArrayRef<int64_t> shape,
                                                 const ir::Layout &from,
                                                 const ir::Layout &to,
                                                 const ir::MeshSizes &mesh);

llvm::SmallVector<int64_t> splitShape(llvm::ArrayRef<int64_t> shape,
                                      const DimensionSplit &split);

/// Returns the layout that is equal to `layout` on the view with two
/// dimensions. `split` must be a result of findDimensionSplit for it.
ir::Layout splitLayout(llvm::ArrayRef<int64_t> shape, const ir::Layout &layout,
                       const DimensionSplit &split, const ir::MeshSizes &mesh);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_RESHARDCOLLECTIVE_H
