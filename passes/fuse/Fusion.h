//===- Fusion.h - Base of the fusion passes ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_FUSE_FUSION_H
#define MF_PASSES_FUSE_FUSION_H

#include "dialects/mf/MfOps.h"
#include <functional>

namespace mf::passes {

/// Returns the shape of a ranked tensor.
inline llvm::ArrayRef<int64_t> getShape(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}

/// Operators of a layer that may be fused into one: a match of the pattern.
struct FusionCandidate {
  std::string layer; ///< the layer of the model, for example `layers.0`
  std::string name;  ///< the name of the fused operator
  /// The numbers of kernels before and after the fusion.
  int64_t kernelsBefore = 1, kernelsAfter = 1;
  /// The bytes that backward needs of the unfused and of the fused operators.
  int64_t keptBefore = 0, keptAfter = 0;
  /// True if MindSpore Transformers has no unfused form.
  bool isAlways = false;
  /// True if its layer class has no fused form: a dense layer in a model that
  /// has layers with experts.
  bool isNever = false;
  /// The values of the pattern that other operators read.
  llvm::SmallVector<mlir::Value, 1> results;
  /// Builds a value that replaces each result. The builder's position is before
  /// the producer of the first one.
  std::function<llvm::SmallVector<mlir::Value, 1>(mlir::OpBuilder &)> build;

  /// Names the layer that contains `root`, and the fused operator.
  void setPlace(mlir::Operation *root, llvm::StringRef fused);
  /// Returns the decision if the fusion is selected, or not.
  bool isFused(bool isSelected) const {
    return isAlways || (isSelected && !isNever);
  }
};

/// One kind of fusion, applied to a model.
class Fusion {
public:
  /// `what` is the operator that it builds, `category` the category of its
  /// remarks.
  Fusion(ir::ModelOp model, llvm::StringRef what, bool printPlan)
      : model(model), what(what), printPlan(printPlan) {}

  void add(FusionCandidate candidate) {
    candidates.push_back(std::move(candidate));
  }
  /// Replaces the fused operators and erases those without readers. The model's
  /// `training` attribute has the switch; without it, all fusions are selected.
  /// A key that selects a fusion for which the model has no operators is a
  /// warning. `fusion` is the parameter's name.
  void run(llvm::StringRef fusion, bool (ir::FusionsAttr::*isSelected)() const);

private:
  bool isSelected(bool (ir::FusionsAttr::*isSelected)() const);
  void warn(llvm::StringRef fusion);
  void print(bool isSelected);

  ir::ModelOp model;
  llvm::StringRef what;
  bool printPlan;
  std::vector<FusionCandidate> candidates;
};

/// Returns the Cell of a dotted name with a trailing dot, or an empty string.
std::string getCellPrefix(llvm::StringRef name);

/// Returns the bytes of a tensor value.
int64_t getBytes(mlir::Value value);

/// Returns the operator that makes `value` if it is an `Op` and has no other
/// reader.
template <typename Op> Op getOnlyReadOp(mlir::Value value) {
  return value.hasOneUse() ? value.getDefiningOp<Op>() : Op();
}

/// Creates an operator with a cell.
template <typename Op, typename... Args>
Op createNamed(mlir::OpBuilder &builder, mlir::Location loc,
               llvm::StringRef name, Args &&...args) {
  Op op = Op::create(builder, loc, std::forward<Args>(args)...);
  if (!name.empty())
    op.setCellName(name);
  return op;
}

/// Returns `value` in another shape, or itself if it has that shape.
mlir::Value reshapeNamed(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::StringRef name, mlir::Value value,
                         llvm::ArrayRef<int64_t> shape);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_FUSION_H
