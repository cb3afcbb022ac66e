//===- RuleAxes.h - Axes of an operator's factors --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SHARD_RULEAXES_H
#define MF_PASSES_SHARD_RULEAXES_H

#include "dialects/mf/ShardingRule.h"

namespace mf::passes {

/// Adds axes to a sorted set. Returns true if that changes it.
bool addMissing(ir::Axes &axes, llvm::ArrayRef<llvm::StringRef> added);

/// Sorts axes in the mesh's order, which is that of the axes of groups.
ir::Axes sortAsMesh(llvm::ArrayRef<llvm::StringRef> axes,
                    const ir::MeshSizes &mesh);

/// Returns the axes that cut any factor, as a set.
ir::Axes getUsed(llvm::ArrayRef<ir::Axes> axes);

/// Returns the cuts of an operand or result whose factors are cut by `axes`.
ir::Layout getLayout(const ir::FactorDims &dims, llvm::ArrayRef<ir::Axes> axes);

llvm::SmallVector<int64_t> getSizes(const ir::ShardingRule &rule,
                                    llvm::ArrayRef<unsigned> factors);

/// Returns the axes over which a result with dimensions `dims` is a partial
/// sum.
ir::Axes getSummed(const ir::ShardingRule &rule, const ir::FactorDims &dims,
                   llvm::ArrayRef<ir::Axes> axes);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_RULEAXES_H
