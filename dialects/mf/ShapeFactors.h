//===- ShapeFactors.h - Sharding factors of shapes --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_SHAPEFACTORS_H
#define MF_DIALECTS_MF_SHAPEFACTORS_H

#include "dialects/mf/ShardingRule.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mf::ir {

/// Returns the shape of a ranked tensor.
inline llvm::ArrayRef<int64_t> getShape(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// Adds one factor per dimension.
inline FactorDims addFactors(ShardingRule &rule, FactorKind kind,
                             llvm::ArrayRef<int64_t> shape) {
  FactorDims dims;
  for (const int64_t size : shape)
    dims.push_back({rule.addFactor(kind, size)});
  return dims;
}

} // namespace mf::ir

#endif // MF_DIALECTS_MF_SHAPEFACTORS_H
