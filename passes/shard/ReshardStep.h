//===- ReshardStep.h - The collective for one mf.reshard --------*- C++ -*-===//

#ifndef MF_PASSES_SHARD_RESHARDSTEP_H
#define MF_PASSES_SHARD_RESHARDSTEP_H

#include "dialects/mf/ShardingRule.h"

namespace mf::passes {

enum class ReshardKind {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  OwnPart,
  Mirror
};

struct ReshardStep {
  ReshardKind kind;
  ir::Axes axes;
  /// The dimension that is cut or gathered; of an all-to-all, that is cut.
  int64_t dim = 0;
  /// For an all-to-all, the dimension that is gathered.
  int64_t concat = 0;
  /// For an all-gather: to replicated, else to reduced.
  bool replicated = false;
};

/// The one step between two layouts; none if there is no such.
std::optional<ReshardStep> getReshardStep(const ir::Layout &from,
                                          const ir::Layout &to);

/// The layout of the result of `step` on a tensor with layout `from`.
ir::Layout applyStep(const ir::Layout &from, const ReshardStep &step);

/// Whether it cuts or gathers a dimension, in the order of its axes; if not,
/// they are a set, and sorted.
bool isAlongDimension(ReshardKind kind);

/// "reduce_scatter".
llvm::StringRef getName(ReshardKind kind);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_RESHARDSTEP_H
