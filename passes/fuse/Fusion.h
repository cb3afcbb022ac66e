//===- Fusion.h - Base of the fusion passes ---------------------*- C++ -*-===//

#ifndef MF_PASSES_FUSE_FUSION_H
#define MF_PASSES_FUSE_FUSION_H

#include "dialects/mf/MfOps.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/fuse/FusionPlan.h"
#include <functional>

namespace mf::passes {

/// The shape of a ranked tensor.
inline llvm::ArrayRef<int64_t> getShape(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}

/// Operators that match.
struct FusionCandidate {
  FusionSite site;
  /// Values of theirs that other operators read.
  llvm::SmallVector<mlir::Value, 1> results;
  /// Builds a value in place of each result; the builder stands in front of the
  /// producer of the first one.
  std::function<llvm::SmallVector<mlir::Value, 1>(mlir::OpBuilder &)> build;
};

/// One fusion on its way through a model.
class Fusion {
public:
  /// `what` is the operator that it makes, `category` its kind of remark.
  Fusion(ir::ModelOp model, llvm::StringRef what, bool printPlan)
      : model(model), what(what), printPlan(printPlan) {}

  void add(FusionCandidate candidate) {
    candidates.push_back(std::move(candidate));
  }
  /// A site in the layer that `root` is in.
  static FusionSite getSite(mlir::Operation *root, llvm::StringRef name);

  /// Plans, replaces the fused operators and erases those that nobody reads any
  /// more. The model's `training` picks the switch; without one, all fusions
  /// are asked for. A key that asks for operators which the model lacks is a
  /// warning.
  void run(FusionSwitch FusionConfig::*which);

private:
  FusionSwitch getSwitch(FusionSwitch FusionConfig::*which);
  void warn(const FusionSwitch &asked, const FusionPlan &plan);
  void apply(const FusionPlan &plan);

  ir::ModelOp model;
  llvm::StringRef what;
  bool printPlan;
  std::vector<FusionCandidate> candidates;
};

/// The Cell of a dotted name, with a dot at its end; empty without one.
std::string getCellPrefix(llvm::StringRef name);

/// Bytes of a tensor value.
int64_t getBytes(mlir::Value value);

/// The operator that makes `value`, if it is an `Op` and nobody else reads it.
template <typename Op> Op getOnlyReadOp(mlir::Value value) {
  return value.hasOneUse() ? value.getDefiningOp<Op>() : Op();
}

/// Creates an operator with a place in the Cell tree.
template <typename Op, typename... Args>
Op createNamed(mlir::OpBuilder &builder, mlir::Location loc,
               llvm::StringRef name, Args &&...args) {
  Op op = Op::create(builder, loc, std::forward<Args>(args)...);
  if (!name.empty())
    op.setCellName(name);
  return op;
}

/// `value` in another shape; itself if it has that shape.
mlir::Value reshapeNamed(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::StringRef name, mlir::Value value,
                         llvm::ArrayRef<int64_t> shape);

} // namespace mf::passes

#endif // MF_PASSES_FUSE_FUSION_H
