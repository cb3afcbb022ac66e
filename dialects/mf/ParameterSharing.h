//===- ParameterSharing.h - How ranks share a parameter out -----*- C++ -*-===//

#ifndef DIALECTS_MF_PARAMETERSHARING_H
#define DIALECTS_MF_PARAMETERSHARING_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace mf::ir {

/// The attribute of one mf.param that overrides what the model's
/// training asks for all parameters: `mf.sharing = {axes = ["dp"],
/// gathers_again = true, must_divide = false, divides_gradients = false}`.
struct ParameterSharing {
  static constexpr llvm::StringLiteral attributeName = "mf.sharing";

  /// The ranks that share its storage out, along its first dimension; none if
  /// it is empty.
  llvm::SmallVector<llvm::StringRef> axes;
  /// On one stage a layer gathers it for each micro-batch: whether it does so
  /// in backward again, or keeps what it has gathered until then.
  bool gathersAgain = false;
  /// Whether a first dimension that does not divide is an error. Else each rank
  /// keeps its part.
  bool mustDivide = false;
  /// Whether the gradient is divided by the number of these ranks.
  bool dividesGradients = false;

  static std::optional<ParameterSharing> find(mlir::Operation *param);
  void setOn(mlir::Operation *param) const;
  /// Errors: an attribute of another form, or on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // DIALECTS_MF_PARAMETERSHARING_H
