//===- ExpertNames.cpp - Names of operators with experts ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertNames.h"

namespace mf {

/// Returns the names of TopkRouterV2 of MoEV2.
static RouterNames getCapacityRouter() {
  RouterNames names;
  names.weightCell = "router.dense";
  names.product = "router.dense.matmul";
  names.cast = "router.cast";
  names.activation = "router.router.gating_activation";
  names.choose = "router.router.topk";
  names.addBias = "router.router.afb_add_topk_bias";
  names.chooseBiased = "router.router.afb_topk";
  names.gatherGate = "router.router.gate_gather";
  names.chooseGroups = "router.router.tc_topk";
  names.sumGroup = "router.router.tc_sum";
  names.compareGroups = "router.router.gt";
  names.maskGroups = "router.router.mul_4d";
  names.sum = "router.router.reduce_sum_keep";
  names.addEpsilon = "router.router.add_eps";
  names.divide = "router.router.div_3d";
  names.scale = "router.router.mul";
  names.oneHot = "router.router.onehot_2d";
  names.meanShares = "router.router.reduce_mean";
  names.meanScores = "router.router.reduce_mean";
  names.lossProduct = "router.router.mul_2d";
  names.lossMean = "router.router.reduce_mean_2d";
  names.lossFactor = "router.router.mul";
  names.addLoss = "add_loss";
  names.bias = "router.router.topk_bias";
  names.shares = "router.router.fi_parameter";
  return names;
}

/// MoEV3, which is its own router.
static RouterNames getDroplessRouter() {
  RouterNames names;
  names.weightCell = "router_dense";
  names.product = "router_dense.matmul";
  names.cast = "cast";
  names.activation = "gating_activation";
  names.choose = "topk";
  names.addBias = "afb_add_topk_bias";
  names.chooseBiased = "afb_topk";
  names.gatherGate = "gate_gather";
  names.sum = "reduce_sum_keep";
  names.addEpsilon = "add_eps";
  names.divide = "div_3d";
  names.scale = "mul";
  names.oneHot = "onehot_aux";
  names.meanShares = "reduce_mean_aux_3d";
  names.meanScores = "reduce_mean_aux_3d";
  names.lossProduct = "mul_aux_2d";
  names.lossMean = "reduce_mean_aux_2d";
  names.lossFactor = "mul_noshard";
  names.addLoss = "add_loss";
  names.bias = "topk_bias";
  return names;
}

/// Returns the names of mcore's TopKRouter. Its product with the weight is a
/// function without a name of its own, so it has the name of its user. The
/// later releases that limit tokens to groups have no names for the groups
/// here.
static RouterNames getMcoreRouter() {
  RouterNames names;
  names.weightCell = "router";
  names.product = "router.gating_activation";
  names.cast = "router.cast";
  names.activation = "router.gating_activation";
  names.choose = "router.topk";
  names.addBias = "router.afb_add_topk_bias";
  names.chooseBiased = "router.afb_topk";
  names.gatherGate = "router.gate_gather";
  names.chooseGroups = "router.topk";
  names.sumGroup = "router.reduce_sum_keep";
  names.compareGroups = "router.onehot_2d";
  names.maskGroups = "router.mul";
  names.sum = "router.reduce_sum_keep";
  names.addEpsilon = "router.add_eps";
  names.divide = "router.div_3d";
  names.scale = "router.mul";
  names.oneHot = "router.onehot_aux";
  names.meanShares = "router.reduce_mean_aux_3d";
  names.meanScores = "router.reduce_mean_aux_3d";
  names.lossProduct = "router.mul_aux_2d";
  names.lossMean = "router.reduce_mean_aux_2d";
  names.lossFactor = "router.mul_noshard";
  names.addLoss = "router.add_loss";
  names.bias = "router.expert_bias";
  return names;
}

static DroplessNames getClassicDropless() {
  DroplessNames names;
  names.transposeChoices = "transpose_3d";
  names.reshape = "reshape";
  names.cast = "cast";
  names.sort = "sort";
  names.remainder = "mod";
  names.gather = "gather_sort";
  names.oneHot = "onehot";
  names.transposePlaces = "transpose_unsort_map";
  names.safeIds = "ffn.op_concat_safe_tokens_expert_ids";
  names.safeSort = "ffn.op_sort_safe_tokens";
  names.safeGather = "ffn.op_gather_safe_tokens";
  names.safeCounts = "ffn.op_add_safe_tokens";
  names.safeSlice = "ffn.op_stridedslice_safe_tokens";
  names.castWeight = "ffn.cast";
  names.morph = "ffn.hook_ffn_forward";
  names.gatherBack = "gather_unsort";
  names.weigh = "mul_router_coeff";
  names.sum = "sum_router_coeff";
  names.gateUp = "ffn.w1";
  names.down = "ffn.w2";
  return names;
}

/// All operators from the sort to the sum are one Morph.
static DroplessNames getMcoreDropless() {
  DroplessNames names;
  for (llvm::StringRef *name :
       {&names.transposeChoices, &names.reshape, &names.cast, &names.sort,
        &names.remainder, &names.gather, &names.oneHot, &names.transposePlaces,
        &names.safeIds, &names.safeSort, &names.safeGather, &names.safeCounts,
        &names.safeSlice, &names.morph, &names.gatherBack, &names.weigh,
        &names.sum})
    *name = "experts.morphed_forward";
  names.castWeight = "experts.cast_op";
  names.gateUp = "experts.weight1";
  names.down = "experts.weight2";
  return names;
}

ExpertNames getExpertNames(const ModelSpec &spec) {
  const ExpertSpec &experts = *spec.experts;
  ExpertNames names;
  names.shared = "shared_experts";
  names.reshape = "reshape";
  names.addShared = "add";
  if (spec.family == ModelFamily::Mcore) {
    names.cell = "mlp";
    names.cast = "experts.cast_op";
    names.tokenTable = "router.tid2eid";
    names.sharedGate = "shared_experts_gate";
    names.sharedProduct = "shared_experts_gate.matmul";
    names.activateGate = "shared_experts.mul";
    names.applyGate = "shared_experts.mul";
    names.castResult = "mlp.experts.cast_op";
    names.router = getMcoreRouter();
    names.dropless = getMcoreDropless();
    return names;
  }
  names.cell = "feed_forward";
  names.swiglu = experts.fusions.swiglu ? "swiglu" : "";
  names.routed = experts.sharedWidth > 0 ? "routed_experts" : "";
  names.cast = "cast";
  names.sharedGate = "shared_experts_gate";
  names.sharedProduct = "shared_experts_gate.matmul";
  names.activateGate = "sigmoid";
  names.applyGate = "mul";
  names.castResult = "cast";
  names.router = experts.capacity ? getCapacityRouter() : getDroplessRouter();
  names.dropless = getClassicDropless();
  return names;
}

} // namespace mf
