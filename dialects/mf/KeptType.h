//===- KeptType.h - The type in which a weight is kept ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_KEPTTYPE_H
#define MF_DIALECTS_MF_KEPTTYPE_H

#include "mlir/IR/Operation.h"

namespace mf::ir {

/// The attribute of an mf.param with the type in which layers read it,
/// `mf.kept = bf16`. If the type is narrower than that of the parameter, a rank
/// stores its part in this type in addition to the part that the optimizer
/// updates. A sharded parameter is gathered in this type.
struct KeptType {
  static constexpr llvm::StringLiteral attributeName = "mf.kept";

  /// Returns the type, or null if the parameter has no such attribute.
  static mlir::Type find(mlir::Operation *param);
  static void setOn(mlir::Operation *param, mlir::Type type);
  /// Fails if the attribute has another form or is on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_KEPTTYPE_H
