//===- ParameterSharing.h - Sharding of single parameters -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_PARAMETERSHARING_H
#define MF_DIALECTS_MF_PARAMETERSHARING_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace mf::ir {

/// The attribute of an mf.param that overrides what the model's training
/// configuration defines for all parameters: `mf.sharing = {axes = ["dp"],
/// gathers_again = true, must_divide = false, divides_gradients = false}`.
struct ParameterSharing {
  static constexpr llvm::StringLiteral attributeName = "mf.sharing";

  /// The axes of the ranks over which its storage is sharded, along its
  /// `storage_dim`. Empty if it is not.
  llvm::SmallVector<llvm::StringRef> axes;
  /// On one stage, a layer gathers the parameter for each micro-batch. True if
  /// it is gathered again in backward, false if the gathered value is kept
  /// until then.
  bool gathersAgain = false;
  /// True if a dimension that is not divisible is an error. Otherwise
  /// each rank stores the whole of its part.
  bool mustDivide = false;
  /// True if the gradient is divided by the number of these ranks.
  bool dividesGradients = false;

  static std::optional<ParameterSharing> find(mlir::Operation *param);
  void setOn(mlir::Operation *param) const;
  /// Fails if the attribute has another form or is on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_PARAMETERSHARING_H
