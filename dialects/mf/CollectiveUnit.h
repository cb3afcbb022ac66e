//===- CollectiveUnit.h - Collectives that are issued together --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_COLLECTIVEUNIT_H
#define MF_DIALECTS_MF_COLLECTIVEUNIT_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace mf::ir {

/// The attribute with the number of the unit of a collective on a weight or on
/// its gradient, `mf.unit = 3`. The gathers of a unit are issued together, when
/// the previous unit begins.
struct CollectiveUnit {
  static constexpr llvm::StringLiteral attributeName = "mf.unit";

  static std::optional<int64_t> find(mlir::Operation *op);
  static void setOn(mlir::Operation *op, int64_t unit);
  /// Gives `to` the unit of `from`, if it has one.
  static void copy(mlir::Operation *from, mlir::Operation *to);
  /// Fails if the attribute has another form or is on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_COLLECTIVEUNIT_H
