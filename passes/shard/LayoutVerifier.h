//===- LayoutVerifier.h - Checks layouts against operators ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SHARD_LAYOUTVERIFIER_H
#define MF_PASSES_SHARD_LAYOUTVERIFIER_H

#include "dialects/mf/MfOps.h"
#include "mlir/IR/Operation.h"
#include "passes/shard/LayoutPlan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mf::passes {

/// Groups operators that have the same name, attributes and types, regardless
/// of the values that they read. Layers of one kind have the same operators, so
/// that properties which depend only on these are computed once. Operators must
/// not change or be erased while they are in a group.
class EqualOperators {
public:
  /// Returns the number of the operator's group, and whether the operator is
  /// the first in it. Operators of one group have the same flags.
  std::pair<unsigned, bool> add(mlir::Operation *op,
                                llvm::SmallBitVector flags = {});

private:
  struct Group {
    mlir::Operation *first;
    llvm::SmallBitVector flags;
    unsigned number;
  };
  /// The groups by the hash of their operators.
  llvm::DenseMap<uint64_t, llvm::SmallVector<Group, 1>> groups;
  unsigned numGroups = 0;
};

/// Checks layers between mf-propagate-layouts and mf-localize: operands and
/// results have the layouts that each operator's rule requires, operators that
/// are not linear read no partial values, gradients that will be partial flow
/// to values that are reduced, and collectives do what their types state. A
/// layer without layouts has nothing to check.
/// One object checks all layers of a model, because a search through a model
/// takes linear time, and equal operators are checked once. Checked layers must
/// not change while it lives.
class ShardingVerifier {
public:
  mlir::LogicalResult verify(ir::LayerOp layer);

private:
  mlir::SymbolTableCollection symbols;
  EqualOperators checked;
};

/// Checks only the reshards of a layer.
mlir::LogicalResult verifyReshards(ir::LayerOp layer);

/// Returns the layout in the type of a tensor.
ir::Layout getLayout(mlir::Value value);

/// Returns whether any value of the layer has a layout.
bool hasLayouts(ir::LayerOp layer);

/// Returns the values of a layer to which the gradient of the loss flows.
llvm::DenseSet<mlir::Value>
findDifferentiated(ir::LayerOp layer, mlir::SymbolTableCollection &symbols);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_LAYOUTVERIFIER_H
