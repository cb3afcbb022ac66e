//===- GradientBuilder.h - Gradients of a sequence of operators -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_AUTODIFF_GRADIENTBUILDER_H
#define MF_PASSES_AUTODIFF_GRADIENTBUILDER_H

#include "dialects/mf/MfOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mf::passes {

/// Builds the backward half of a chunk from its forward half.
class GradientBuilder {
public:
  GradientBuilder(mlir::OpBuilder &builder) : builder(builder) {}

  /// Marks `value` (a hidden input, a trained parameter) as needing a gradient.
  void require(mlir::Value value) { needing.insert(value); }
  /// Makes the gradient of `value`, a statistic, the maximum of several values
  /// instead of their sum.
  void keepLargest(mlir::Value value) { largest.insert(value); }
  bool isRequired(mlir::Value value) const { return needing.contains(value); }

  /// Marks all values that depend on a value that needs a gradient.
  void propagate(mlir::Block &forward);

  /// Appends the gradients of `operators`, starting with the last one.
  /// `outputGradients` has a gradient for each of `outputs`.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> operators,
                          mlir::ValueRange outputs,
                          mlir::ValueRange outputGradients);

  mlir::Value getGradient(mlir::Value value) const {
    return gradients.lookup(value);
  }

private:
  mlir::LogicalResult differentiate(mlir::Operation *op);
  void accumulate(mlir::Value value, mlir::Value gradient,
                  llvm::StringRef name);

  mlir::OpBuilder &builder;
  llvm::DenseSet<mlir::Value> needing, largest;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

} // namespace mf::passes

#endif // MF_PASSES_AUTODIFF_GRADIENTBUILDER_H
