//===- ExpertAxes.h - Axes over which experts are distributed ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `ep` is not an axis but a name for factors of dp, cp and mp. It stands for
// the expert_parallel inner ranks of those that do not cut an expert's weight
// otherwise. Hence, if mp also cuts the weight, these ranks have the same
// position along mp, and otherwise they are neighbours, as in MindSpore
// Transformers.
//
// Experts and optimizer shards belong to ranks that are neighbours, whatever
// axes these are on. If such a group ends within an axis, the mesh has that
// axis as several factors.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_EXPERTAXES_H
#define MF_PASSES_CONFIG_EXPERTAXES_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/RankLayout.h"

namespace mf::passes {

/// The axis of one key of parallel_config, and where it is split: numbers of
/// neighbouring ranks, each a divisor or a multiple of the others.
struct NamedAxis {
  std::string name;
  int64_t size;
  llvm::SmallVector<int64_t> cuts;
};

/// A range of ranks along an axis: `size` ranks at distance `stride`.
struct AxisSpan {
  NamedAxis *axis;
  int64_t stride, size;
};

/// Removes the `size` inner ranks from `spans` (outermost first) and splits the
/// axis within which they end. Returns false, without changes, if they are not
/// a product of whole factors.
bool takeInnerRanks(llvm::SmallVectorImpl<AxisSpan> &spans, int64_t size);

/// The name of these axes in the cuts of expert weights.
constexpr llvm::StringLiteral expertAxisName = "ep";

/// Returns whether `cuts` has the axis, or an axis of which it is a factor.
bool isCutOver(mlir::ArrayAttr cuts, llvm::StringRef axis);

/// Returns the number of experts of a weight that `ep` cuts; none if it does
/// not.
std::optional<int64_t> getNumExperts(ir::ParamOp param);

/// Returns the number of experts in a layer of `model`; 1 if it has none.
int64_t getNumExperts(ir::ModelOp model);

/// Returns the ranks of `axes` that hold the same part of `param`, without
/// those over which experts are distributed. None if expert_parallel ranks are
/// not a product of whole factors. Splits axes where these ranks end.
std::optional<llvm::SmallVector<AxisSpan>>
takeReplicas(ir::ParamOp param, int64_t expertParallel,
             llvm::MutableArrayRef<NamedAxis> axes);

/// Replaces `ep` by axes of `mesh` in the cuts of parameters and in the
/// attributes of operators. Fails if it stands for different axes in different
/// weights.
mlir::LogicalResult resolveExpertAxes(ir::ModelOp model, ir::MeshAttr mesh,
                                      int64_t expertParallel);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_EXPERTAXES_H
