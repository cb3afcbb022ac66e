//===- ExpertLevels.h - Memory levels of experts ----------------*- C++ -*-===//
//
// Chooses operators of experts that take all of their tokens to run again in
// backward, by the levels of MindSpeed's --moe-zero-memory. MindSpore
// Transformers has one name for all that these operators do, so the levels have
// names of their own beside it, for patterns of select_recompute:
// `feed_forward.ffn.level0`.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_MARK_EXPERTLEVELS_H
#define MF_PASSES_MARK_EXPERTLEVELS_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/LayerPlan.h"
#include "llvm/ADT/SetVector.h"
#include <array>

namespace mf::passes {

class ExpertLevels {
public:
  /// Empty for a layer without such experts.
  explicit ExpertLevels(ir::LayerOp layer);

  /// Adds the names of the levels to those that patterns are matched against.
  void addNames(CellTree &tree) const;
  /// Adds to a layer at level 1 that its shared experts run again.
  void addShared(LayerEffects &effects) const;
  /// Marks what the layer's level says, but for what is excluded.
  void mark(const LayerEffects &effects) const;

private:
  using Operators = llvm::SetVector<mlir::Operation *>;

  void addWayIn(mlir::Operation *product);
  void addActivation(mlir::Operation *product);
  const RecomputeTarget *findSetting(const LayerEffects &effects,
                                     size_t level) const;

  std::array<std::string, 2> names;
  /// Level 0: what brings tokens to their experts, and what stands between the
  /// two products of an expert. Both are computed from kept values: the tokens,
  /// and the result of the first product.
  Operators dispatch, activation;
  /// Level 1 runs these again, too.
  Operators firstProducts;
  /// The Cell of shared experts; empty if there are none.
  std::string shared;
};

} // namespace mf::passes

#endif // MF_PASSES_MARK_EXPERTLEVELS_H
