//===- ExpertAxes.h - The axes that share experts out ----------*- C++ -*-===//
//
// `ep` is no axis of its own but a name for factors of dp, cp and mp: the
// expert_parallel inner ranks of those that do not cut an expert's weight
// otherwise. So where mp cuts it too they have one place in mp, and else they
// are neighbours, as in MindSpore Transformers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_CONFIG_EXPERTAXES_H
#define MF_PASSES_CONFIG_EXPERTAXES_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "passes/config/AxisCuts.h"

namespace mf::passes {

/// The name of these axes in the cuts of expert weights.
constexpr llvm::StringLiteral expertAxisName = "ep";

/// Whether `cuts` names the axis, or one of which it is a factor.
bool isCutOver(mlir::ArrayAttr cuts, llvm::StringRef axis);

/// The experts of a weight that `ep` cuts; none if it does not.
std::optional<int64_t> getNumExperts(ir::ParamOp param);

/// How many experts a layer of `model` has; 1 if no weight is theirs.
int64_t getNumExperts(ir::ModelOp model);

/// The ranks that have the same part of `param`, ranks of `axes`; those that
/// share experts out left aside. None if expert_parallel ranks are no whole
/// factors. Cuts axes where they end.
std::optional<llvm::SmallVector<AxisSpan>>
takeReplicas(ir::ParamOp param, int64_t expertParallel,
             llvm::MutableArrayRef<NamedAxis> axes);

/// Writes the axes of `mesh` for `ep` in the cuts of parameters and in the
/// attributes of operators. Errors: weights for which it means others.
mlir::LogicalResult resolveExpertAxes(ir::ModelOp model, ir::MeshAttr mesh,
                                      int64_t expertParallel);

} // namespace mf::passes

#endif // MF_PASSES_CONFIG_EXPERTAXES_H
