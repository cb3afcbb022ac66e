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

} // namespace mf::passes

#endif // MF_PASSES_SHARD_RESHARDCOLLECTIVE_H
