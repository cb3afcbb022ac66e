//===- FullSharding.h - Parameters sharded over all data ranks --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each parameter, including the weights of norms, is sharded separately along
// its first dimension over the ranks that have different tokens (FSDP). With
// several groups that hold the same shards it is HSDP.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_FULLSHARDING_H
#define MF_PASSES_CONFIG_FULLSHARDING_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "passes/config/AxisCuts.h"

namespace mf::passes {

/// Splits `axes` where the ranks end that shard a parameter of `model`.
void cutForFullSharding(ir::ModelOp model, const RankLayout &ranks,
                        const FullyShardedConfig &config,
                        llvm::MutableArrayRef<NamedAxis> axes);

/// Returns the weights of experts that are distributed over the ranks of
/// expert_parallel. Must be called before `ep` is resolved to axes.
llvm::SmallVector<ir::ParamOp> getDistributedExperts(ir::ModelOp model,
                                                     const RankLayout &ranks);

/// Sets for each weight in `model` the axes of `mesh` over which it is sharded,
/// and whether backward gathers it again. Norms always are gathered again,
/// other weights by the policy of `config`. The head's weight is gathered again
/// only if the policy is `always`, or if the head has several losses and hence
/// no single point in time at which it runs.
void setFullSharding(ir::ModelOp model, ir::MeshAttr mesh,
                     const RankLayout &ranks, const FullyShardedConfig &config,
                     llvm::ArrayRef<ir::ParamOp> experts);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_FULLSHARDING_H
