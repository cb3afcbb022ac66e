//===- UpdateRules.h - Updates by Came and by Muon --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_OPTIMIZER_UPDATERULES_H
#define MF_PASSES_OPTIMIZER_UPDATERULES_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Returns the axes with more than one rank that cut one of the dimensions
/// `dims` of the stored part of a parameter, in the mesh's order.
mlir::ArrayAttr getCuttingAxes(ir::ParamOp param, llvm::ArrayRef<int64_t> dims);

/// Builds Came's update of a parameter (Luo et al., 2023) as operators in fp32
/// on a rank's own part. Means over dimensions that are cut over ranks are
/// summed over these ranks, so that the step is that of the whole parameter.
mlir::LogicalResult buildCameUpdate(mlir::OpBuilder &builder,
                                    ir::OptimizerAttr optimizer,
                                    mlir::Value step, mlir::Value overflow,
                                    ir::ParamOp param, mlir::Value rate);

/// Builds Muon's update of all of `params` (Jordan et al., 2024) with their
/// learning rates, as operators on whole matrices in bf16. The ranks'
/// directions are gathered and made orthogonal by Newton-Schulz iterations, and
/// each rank takes its part of the result. If only one rank computes each
/// matrix (`spreads`), parameters with the same type, layout and matrices are
/// updated in groups, with one parameter for each rank.
void buildMuonUpdates(mlir::OpBuilder &builder, ir::OptimizerAttr optimizer,
                      mlir::Value overflow, llvm::ArrayRef<ir::ParamOp> params,
                      llvm::function_ref<mlir::Value(ir::ParamOp)> getRate);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_UPDATERULES_H
