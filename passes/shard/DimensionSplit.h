//===- DimensionSplit.h - Resharding a dimension in two parts --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Suppose that axes [dp, mp] cut a dimension, and that after a reshard dp cuts
// another dimension and mp none. The ranks of dp cannot exchange parts before
// those of mp have gathered theirs, because the received parts would not be
// contiguous in the dimension. If it is viewed as two dimensions, cut by dp and
// by mp, each needs one collective, and less is sent. This file does not depend
// on IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SHARD_DIMENSIONSPLIT_H
#define MF_PASSES_SHARD_DIMENSIONSPLIT_H

#include "dialects/mf/ShardingRule.h"

namespace mf::passes {

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

#endif // MF_PASSES_SHARD_DIMENSIONSPLIT_H
