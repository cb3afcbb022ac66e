//===- CameUpdate.h - The update of one parameter by Came -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_OPTIMIZER_CAMEUPDATE_H
#define MF_PASSES_OPTIMIZER_CAMEUPDATE_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Builds Came's update of parameters (Luo et al., 2023) as operators in fp32
/// on a rank's own part. Means over dimensions that are cut over ranks are
/// summed over these ranks, so that the step is that of the whole parameter.
class CameBuilder {
public:
  CameBuilder(mlir::OpBuilder &builder, ir::OptimizerAttr optimizer,
              mlir::Value step, mlir::Value overflow)
      : builder(builder), optimizer(optimizer), came(optimizer.getCame()),
        step(step), overflow(overflow) {}

  mlir::LogicalResult update(ir::ParamOp param, mlir::Value rate);

private:
  /// Returns the mean of `value` over `dims`, which are removed. `paramDims`
  /// are the dimensions of the parameter that `value` has. All ranks hold the
  /// result.
  mlir::Value buildMean(mlir::Value value, llvm::ArrayRef<int64_t> dims,
                        llvm::ArrayRef<int64_t> paramDims);
  mlir::Value buildAverage(ir::AveragedState state, mlir::Value value,
                           double decay, bool grows = false);
  mlir::Value buildRoot(mlir::Value value);
  mlir::Value addConstant(mlir::Value value, double constant);
  mlir::Value scale(mlir::Value value, double factor);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// Returns `value` divided by the square root of the moment that `rows` and
  /// `columns` represent: rows * columns / (mean of rows).
  mlir::Value divideByRoot(mlir::Value value, mlir::Value rows,
                           mlir::Value columns);
  /// Returns `value` divided by the square root of the running mean of
  /// `squares`.
  mlir::Value divideByMoment(mlir::Value value, mlir::Value squares);
  /// Returns `update`, scaled such that its root mean square is at most the
  /// threshold.
  mlir::Value clip(mlir::Value update);
  /// Returns the first moment divided by the deviation of updates from it.
  mlir::Value weighByConfidence(mlir::Value update, mlir::Value moment);

  mlir::OpBuilder &builder;
  ir::OptimizerAttr optimizer;
  ir::CameAttr came;
  mlir::Value step, overflow;
  ir::ParamOp param;
  mlir::Location loc = builder.getUnknownLoc();
};

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_CAMEUPDATE_H
