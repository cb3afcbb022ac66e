//===- RowBlockPlan.h - Operators that run block by block -------*- C++ -*-===//
//
// The rows of the residual stream, followed through a layer by the rules of its
// operators: what works on each row by itself may run once per block of rows,
// so that collectives of one block run beside the products of another.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SHARD_ROWBLOCKPLAN_H
#define MF_PASSES_SHARD_ROWBLOCKPLAN_H

#include "LayoutPlan.h"

namespace mf::passes {

/// Where the rows of the stream are in a value: dimension `dim` is `outer`
/// times `size` rows times `inner`.
struct RowPlace {
  unsigned dim = 0;
  int64_t outer = 1, size = 1, inner = 1;
};

/// One layer.
struct RowBlockLayer {
  /// Whether its hidden input and its result are blocks.
  bool takesBlocks = false, givesBlocks = false;
  /// By value, where its rows are; empty for a layer that stays as it is.
  std::vector<std::optional<RowPlace>> rows;
  /// By operator, whether it runs once per block.
  std::vector<bool> isCut;
};

struct RowBlockPlan {
  int64_t blocks = 1;
  /// Parts into which context parallelism cuts the rows. Each part has rows of
  /// all blocks, so that a rank's blocks are rows of its own.
  int64_t runs = 1;
  std::vector<RowBlockLayer> layers;

  void print(const ShardedModel &model, llvm::raw_ostream &os) const;
};

/// Cuts what body layers do with rows into `blocks`. In front of what mixes
/// rows, as attention does, that is everything up to the last operator that
/// reads a weight, and behind it all from the first one on; the first layer
/// takes whole rows and the last one gives them. None, and why in `error`,
/// where that cannot be.
std::optional<RowBlockPlan> planRowBlocks(const ShardedModel &model,
                                          int64_t blocks, std::string &error);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_ROWBLOCKPLAN_H
