//===- RowBlockPlan.h - Operators that run block by block -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Follows the rows of the residual stream through a layer by the rules of its
// operators. Operators that work on each row separately may run once per block
// of rows, so that collectives of one block overlap with products of another.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SHARD_ROWBLOCKPLAN_H
#define MF_PASSES_SHARD_ROWBLOCKPLAN_H

#include "LayoutPlan.h"

namespace mf::passes {

/// The place of the stream's rows in a value: dimension `dim` is `outer` times
/// `size` rows times `inner`.
struct RowPlace {
  unsigned dim = 0;
  int64_t outer = 1, size = 1, inner = 1;
};

struct RowBlockLayer {
  /// True if the hidden input is a block, and if the result is one.
  bool takesBlocks = false, givesBlocks = false;
  /// The place of the rows in each value. Empty for a layer that is not
  /// changed.
  std::vector<std::optional<RowPlace>> rows;
  /// For each operator, whether it runs once per block.
  std::vector<bool> isCut;
};

struct RowBlockPlan {
  int64_t blocks = 1;
  /// The number of parts into which context parallelism cuts the rows. Each
  /// part has rows of all blocks, so that a rank's blocks consist of its own
  /// rows.
  int64_t runs = 1;
  std::vector<RowBlockLayer> layers;

  void print(const ShardedModel &model, llvm::raw_ostream &os) const;
};

/// Cuts the work of body layers on rows into `blocks`. Before operators that
/// mix rows, such as attention, all operators up to the last one that reads a
/// weight are cut; after them, all operators from the first one that reads a
/// weight on. The first layer takes whole rows and the last one returns them.
/// Returns none and sets `error` if that is not possible.
std::optional<RowBlockPlan> planRowBlocks(const ShardedModel &model,
                                          int64_t blocks, std::string &error);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_ROWBLOCKPLAN_H
