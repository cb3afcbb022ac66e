//===- MuonUpdate.h - The update of one matrix by Muon ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_OPTIMIZER_MUONUPDATE_H
#define MF_PASSES_OPTIMIZER_MUONUPDATE_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Builds Muon's update of parameters (Jordan et al., 2024) as operators on
/// whole matrices in bf16. The ranks' directions are gathered and made
/// orthogonal by Newton-Schulz iterations, and each rank takes its part of the
/// result.
class MuonBuilder {
public:
  MuonBuilder(mlir::OpBuilder &builder, ir::OptimizerAttr optimizer,
              mlir::Value overflow)
      : builder(builder), optimizer(optimizer), muon(optimizer.getMuon()),
        overflow(overflow) {}

  /// Updates all of `params` with their learning rates. If only one rank
  /// computes each matrix (`spreads`), parameters with the same type, layout
  /// and matrices are updated in groups, with one parameter for each rank.
  void updateAll(llvm::ArrayRef<ir::ParamOp> params,
                 llvm::function_ref<mlir::Value(ir::ParamOp)> getRate);

private:
  void update(ir::ParamOp param, mlir::Value rate);
  /// Updates a group of parameters, one for each of the ranks that have parts
  /// of them.
  void updateTogether(llvm::ArrayRef<ir::ParamOp> params,
                      llvm::ArrayRef<mlir::Value> rates);
  /// Returns the number of ranks over which parameters such as `param` are
  /// spread, or 1 if each rank computes all of them.
  int64_t getNumOwners(ir::ParamOp param);
  mlir::Value buildDirection(ir::ParamOp param);
  mlir::Value gather(ir::ParamOp param, mlir::Value part);
  mlir::Value takeOwnPart(ir::ParamOp param, mlir::Value whole);
  mlir::Value orthogonalize(ir::ParamOp param, mlir::Value whole);
  llvm::SmallVector<mlir::Value>
  orthogonalizeEach(llvm::ArrayRef<mlir::Value> matrices);
  llvm::SmallVector<mlir::Value>
  split(mlir::Value whole, llvm::ArrayRef<int64_t> sizes, int64_t axis);
  mlir::Value join(llvm::ArrayRef<mlir::Value> parts, int64_t axis);
  mlir::Value runNewtonSchulz(mlir::Value matrices);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  void takeStep(ir::ParamOp param, mlir::Value direction, mlir::Value rate);
  /// Returns the factor on the learning rate for a matrix of these sizes.
  double getScale(int64_t rows, int64_t columns);

  mlir::OpBuilder &builder;
  ir::OptimizerAttr optimizer;
  ir::MuonAttr muon;
  mlir::Value overflow;
  mlir::Location loc = builder.getUnknownLoc();
  /// The factor for the parameter that was made orthogonal last; 1 if its
  /// direction already includes the factor.
  double scale = 0;
};

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_MUONUPDATE_H
