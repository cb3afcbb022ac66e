//===- FullSharding.cpp - Parameters sharded over all data ranks ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/FullSharding.h"
#include "dialects/mf/ParameterSharing.h"
#include "dialects/mf/ShardingRule.h"
#include "passes/config/ExpertAxes.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

/// Returns whether ranks along this axis, or a factor of it, have different
/// tokens.
static bool hasOwnTokens(StringRef axis) {
  return axis.starts_with("dp") || axis.starts_with("cp");
}

static bool isSharedWeight(ParamOp param) {
  return !param.getFrozen() && !param.getUpdateRule();
}

/// Returns the number of ranks that shard a weight, of `copies` ranks that hold
/// the same part.
static int64_t getShards(bool isExpert, int64_t copies, const RankLayout &ranks,
                         const FullyShardedConfig &config) {
  return isExpert ? copies / config.replicate
                  : config.getDenseShards(ranks.contextParallel);
}

void cutForFullSharding(ModelOp model, const RankLayout &ranks,
                        const FullyShardedConfig &config,
                        MutableArrayRef<NamedAxis> axes) {
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (!isSharedWeight(param))
      continue;
    const bool isExpert = ranks.expertParallel > 1 && getNumExperts(param);
    std::optional<SmallVector<AxisSpan>> replicas =
        takeReplicas(param, ranks.expertParallel, axes);
    if (!replicas)
      continue;
    if (!isExpert)
      llvm::erase_if(*replicas, [](const AxisSpan &span) {
        return !hasOwnTokens(span.axis->name);
      });
    int64_t copies = 1;
    for (const AxisSpan &span : *replicas)
      copies *= span.size;
    (void)takeInnerRanks(*replicas, getShards(isExpert, copies, ranks, config));
  }
}

SmallVector<ParamOp> getDistributedExperts(ModelOp model,
                                           const RankLayout &ranks) {
  SmallVector<ParamOp> experts;
  if (ranks.expertParallel > 1)
    for (auto param : model.getBody().getOps<ParamOp>())
      if (getNumExperts(param))
        experts.push_back(param);
  return experts;
}

/// Returns the inner axes of `mesh` over which `param` is sharded.
static Axes getSharingAxes(ParamOp param, const MeshSizes &mesh,
                           const RankLayout &ranks,
                           const FullyShardedConfig &config, bool isExpert) {
  Axes copies;
  for (auto [axis, size] : mesh.axes)
    if (size > 1 && axis != "pp" && !isCutOver(param.getCutsAttr(), axis) &&
        (isExpert || hasOwnTokens(axis)))
      copies.push_back(axis);
  const int64_t shards =
      getShards(isExpert, mesh.getNumParts(copies), ranks, config);
  Axes axes;
  for (StringRef axis : llvm::reverse(copies)) {
    if (mesh.getNumParts(axes) >= shards)
      break;
    axes.insert(axes.begin(), axis);
  }
  return axes;
}

/// Returns the parameters that the head reads, if it has one loss.
static llvm::DenseSet<Operation *> getHeadWeights(ModelOp model) {
  llvm::DenseSet<Operation *> weights;
  const SymbolTable symbols(model);
  for (auto layer : model.getBody().getOps<LayerOp>()) {
    Block &block = layer.getBody().front();
    if (layer.getKind() != LayerKind::Head ||
        block.getTerminator()->getNumOperands() > 1)
      continue;
    for (auto read : block.getOps<GetParamOp>())
      weights.insert(symbols.lookup<ParamOp>(read.getParam()));
  }
  return weights;
}

void setFullSharding(ModelOp model, MeshAttr mesh, const RankLayout &ranks,
                     const FullyShardedConfig &config,
                     ArrayRef<ParamOp> experts) {
  const MeshSizes sizes(mesh);
  const ReshardPolicy policy = config.reshardAfterForward;
  const llvm::DenseSet<Operation *> head = getHeadWeights(model);
  for (auto param : model.getBody().getOps<ParamOp>()) {
    // The model says of some weights that all ranks have them whole.
    if (!isSharedWeight(param) || ParameterSharing::find(param))
      continue;
    const bool isExpert = llvm::is_contained(experts, param);
    const bool isVector = param.getTensorType().getRank() == 1;
    const bool gathersAgain =
        isVector || policy == ReshardPolicy::Always ||
        (policy == ReshardPolicy::Default && !head.contains(param));
    ParameterSharing sharing;
    sharing.axes = getSharingAxes(param, sizes, ranks, config, isExpert);
    sharing.gathersAgain = gathersAgain && ranks.pipelineStages == 1;
    // Norms, which are not shared out elsewhere either, must divide.
    sharing.mustDivide =
        (isVector && !param.getParallelOptimizer()) || isExpert;
    sharing.dividesGradients = config.dividesGradients;
    sharing.setOn(param);
  }
}

} // namespace mf::passes
