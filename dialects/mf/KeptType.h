//===- KeptType.h - The type in which a weight is kept ----------*- C++ -*-===//

#ifndef MF_DIALECTS_MF_KEPTTYPE_H
#define MF_DIALECTS_MF_KEPTTYPE_H

#include "mlir/IR/Operation.h"

namespace mf::ir {

/// The attribute of an mf.param with the type of what ranks keep for layers to
/// read: `mf.kept = bf16`. If it is narrower than the parameter, a rank stores
/// its part in that type, too, beside the part that the optimizer updates.
/// Ranks that share the parameter out gather it in this type.
struct KeptType {
  static constexpr llvm::StringLiteral attributeName = "mf.kept";

  /// Returns null without the attribute.
  static mlir::Type find(mlir::Operation *param);
  static void setOn(mlir::Operation *param, mlir::Type type);
  /// Fails if the attribute has another form or is on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_KEPTTYPE_H
