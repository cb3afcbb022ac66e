//===- Records.h - The records of all families ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_FAMILIES_RECORDS_H
#define MF_LIB_FRONTEND_FAMILIES_RECORDS_H

#include "mf/Frontend/Families/Family.h"

namespace mf {

// MindSpore Transformers.
#define FAMILY(ID, RECORD) extern const FamilyRecord RECORD;
#include "mf/Frontend/Families/Families.def"

// Hugging Face.
extern const ModelCells huggingFaceCells, huggingFaceMixtralCells,
    huggingFaceQwen2MoeCells, huggingFaceDeepSeekCells,
    huggingFaceBaichuanCells, huggingFaceQwenCells, huggingFaceTelechatCells,
    huggingFaceChatGlmCells, huggingFaceGlmCells, huggingFaceGpt2Cells;

//===----------------------------------------------------------------------===//
// Cells that several families have
//===----------------------------------------------------------------------===//

/// Linear of MindSpore Transformers' classic layers.
constexpr CellRow linear(llvm::StringLiteral cell, Stored stored,
                         When when = {},
                         std::optional<Fact> bias = std::nullopt) {
  CellRow row{cell, "matmul cast reshape shape", stored, when};
  row.bias = bias;
  return row;
}

constexpr CellRow biasedLinear(llvm::StringLiteral cell, Stored stored) {
  return {cell, "matmul bias_add cast reshape shape", stored};
}

constexpr CellRow dropout(llvm::StringLiteral cell, When when = {}) {
  return {cell, "dropout", {}, when};
}

/// LayerNorm with its parameters.
constexpr CellRow layerNorm(llvm::StringLiteral cell, ParameterPart part) {
  return {cell, "layer_norm mean square sqrt sub1 sub2 add mul add2 real_div",
          part};
}

/// Returns the names of a router of experts that take all of their tokens,
/// after `prefix`, which is a Cell's name and a dot, or empty.
constexpr RouterNames getDroplessRouter(llvm::StringLiteral prefix) {
  constexpr llvm::StringLiteral longest = "router.";
  // Names cannot be joined at compile time, but cut.
  auto get = [&](llvm::StringLiteral name) {
    return llvm::StringRef(name.data() + longest.size() - prefix.size(),
                           name.size() - longest.size() + prefix.size());
  };
  RouterNames names;
  names.cast = get("router.cast");
  names.activation = get("router.gating_activation");
  names.choose = get("router.topk");
  names.addBias = get("router.afb_add_topk_bias");
  names.chooseBiased = get("router.afb_topk");
  names.gatherGate = get("router.gate_gather");
  names.sum = get("router.reduce_sum_keep");
  names.addEpsilon = get("router.add_eps");
  names.divide = get("router.div_3d");
  names.scale = get("router.mul");
  names.oneHot = get("router.onehot_aux");
  names.meanShares = get("router.reduce_mean_aux_3d");
  names.meanScores = get("router.reduce_mean_aux_3d");
  names.lossProduct = get("router.mul_aux_2d");
  names.lossMean = get("router.reduce_mean_aux_2d");
  names.lossFactor = get("router.mul_noshard");
  names.addLoss = get("router.add_loss");
  return names;
}

/// A tensor of a checkpoint that no class of MindSpore Transformers registers.
constexpr CellRow tensor(llvm::StringLiteral cell, Stored stored,
                         When when = {}) {
  return {cell, "", stored, when};
}

} // namespace mf

#endif // MF_LIB_FRONTEND_FAMILIES_RECORDS_H
