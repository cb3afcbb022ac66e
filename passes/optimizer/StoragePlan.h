//===- StoragePlan.h - Parameters that are sharded over ranks ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of enable_parallel_optimizer: ranks that hold the same part of a
// parameter may each store a shard of it. This file does not depend on IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_OPTIMIZER_STORAGEPLAN_H
#define MF_PASSES_OPTIMIZER_STORAGEPLAN_H

#include "dialects/mf/ShardingRule.h"
#include <optional>
#include <string>
#include <vector>

namespace mf::passes {

struct UsedParameter {
  std::string name;
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 4;
  /// The dimension along which ranks divide it.
  size_t dim = 0;
  /// True if the model allows it to be sharded.
  bool isOptedIn = true;
  /// The layout of the parameter as layers use it.
  ir::Layout layout;
  /// The axes over which it requests to be sharded, regardless of the settings.
  std::optional<ir::Axes> sharing;
  /// True if a dimension that is not divisible by them is an error.
  bool mustDivide = false;
};

struct StorageDecision {
  /// The axes that cut the stored part further; empty if each rank keeps its
  /// part.
  ir::Axes axes;
  /// The reason for the decision.
  std::string reason;
  /// True if the user requested something else.
  bool isWarning = false;
  /// True if the step cannot be built.
  bool isError = false;
};

/// Returns one decision per parameter. By MindSpore's rules a parameter is
/// sharded if it is opted in, has at least `threshold` KB as a whole, is the
/// same on several ranks, and has a dimension `dim`, the first for most, that
/// is divisible by their number. Only `shardSize` of these ranks share a
/// parameter if that is positive. A parameter that requests axes itself gets
/// these if its dimension is divisible.
std::vector<StorageDecision>
planStorage(const ir::MeshSizes &mesh, int64_t threshold, int64_t shardSize,
            llvm::ArrayRef<UsedParameter> parameters);

void printStorage(llvm::ArrayRef<UsedParameter> parameters,
                  llvm::ArrayRef<StorageDecision> decisions,
                  llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_STORAGEPLAN_H
