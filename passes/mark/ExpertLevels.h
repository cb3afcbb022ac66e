//===- ExpertLevels.h - Memory levels of experts ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses operators of dropless experts to run again in backward, by the levels
// of MindSpeed's --moe-zero-memory. MindSpore Transformers has a single name
// for all of these operators, so the levels get their own names for patterns of
// select_recompute, such as `feed_forward.ffn.level0`.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_EXPERTLEVELS_H
#define MF_PASSES_MARK_EXPERTLEVELS_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Layers/LayerPlan.h"
#include "llvm/ADT/SetVector.h"
#include <array>

namespace mf::passes {

class ExpertLevels {
public:
  /// The result is empty for a layer without such experts.
  explicit ExpertLevels(ir::LayerOp layer);

  /// Adds the names of the levels to those that patterns are matched against.
  void addNames(CellTree &tree) const;
  /// Makes the shared experts of a layer at level 1 run again.
  void addShared(LayerEffects &effects) const;
  /// Marks the operators of the layer's level, except excluded ones.
  void mark(const LayerEffects &effects) const;

private:
  using Operators = llvm::SetVector<mlir::Operation *>;

  void addWayIn(mlir::Operation *product);
  void addActivation(mlir::Operation *product);
  const RecomputeTarget *findSetting(const LayerEffects &effects,
                                     size_t level) const;

  std::array<std::string, 2> names;
  /// Level 0: the operators that bring tokens to their experts, and those
  /// between the two products of an expert. Both are recomputed from kept
  /// values: the tokens, and the result of the first product.
  Operators dispatch, activation;
  /// The operators that level 1 runs again in addition.
  Operators firstProducts;
  /// The Cell of shared experts; empty if there are none.
  std::string shared;
};

} // namespace mf::passes

#endif // MF_PASSES_MARK_EXPERTLEVELS_H
