//===- FullSharding.h - Parameters that all data ranks share ----*- C++ -*-===//
//
// Each parameter by itself is shared out along its first dimension over the
// ranks that have other tokens, weights of norms too: FSDP, and with several
// groups that have the same parts HSDP.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_FULLSHARDING_H
#define MF_PASSES_CONFIG_FULLSHARDING_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "passes/config/AxisCuts.h"

namespace mf::passes {

/// Cuts `axes` where the ranks end that share a parameter of `model` out.
void cutForFullSharding(ir::ModelOp model, const RankLayout &ranks,
                        const FullyShardedConfig &config,
                        llvm::MutableArrayRef<NamedAxis> axes);

/// The weights of experts that ranks of expert_parallel have between them; to
/// be asked before `ep` is resolved to axes.
llvm::SmallVector<ir::ParamOp> getDistributedExperts(ir::ModelOp model,
                                                     const RankLayout &ranks);

/// Says of each weight in `model` over which axes of `mesh` it is shared out,
/// and whether backward gathers it again: norms always, others as the policy
/// of `config` says; the head's only if that is `always`, or if the head has
/// several losses and so no moment of its own.
void setFullSharding(ir::ModelOp model, ir::MeshAttr mesh,
                     const RankLayout &ranks, const FullyShardedConfig &config,
                     llvm::ArrayRef<ir::ParamOp> experts);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_FULLSHARDING_H
