//===- DimensionSplit.h - Resharding a dimension in two parts --*- C++ -*-===//
//
// Where axes [dp, mp] cut a dimension, of which dp shall cut another one and mp
// none, the ranks of dp cannot exchange parts before those of mp have put
// theirs together: what they would get is no part of the dimension. Looked at
// as two dimensions, cut by dp and by mp, it is one of each, and less is sent.
// No IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SHARD_DIMENSIONSPLIT_H
#define MF_PASSES_SHARD_DIMENSIONSPLIT_H

#include "dialects/mf/ShardingRule.h"

namespace mf::passes {

/// Dimension `dim` as `outer` times the rest.
struct DimensionSplit {
  size_t dim;
  int64_t outer;
};

/// How to look at a tensor of `shape` while it goes from one layout to the
/// other; none if as it is.
std::optional<DimensionSplit> findDimensionSplit(llvm::ArrayRef<int64_t> shape,
                                                 const ir::Layout &from,
                                                 const ir::Layout &to,
                                                 const ir::MeshSizes &mesh);

llvm::SmallVector<int64_t> splitShape(llvm::ArrayRef<int64_t> shape,
                                      const DimensionSplit &split);

/// The layout equal to `layout` on the dimension in two parts; `split` is one
/// that findDimensionSplit has found for it.
ir::Layout splitLayout(llvm::ArrayRef<int64_t> shape, const ir::Layout &layout,
                       const DimensionSplit &split, const ir::MeshSizes &mesh);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_DIMENSIONSPLIT_H
