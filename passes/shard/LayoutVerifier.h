//===- LayoutVerifier.h - Checks layouts against operators ------*- C++ -*-===//

#ifndef MF_PASSES_SHARD_LAYOUTVERIFIER_H
#define MF_PASSES_SHARD_LAYOUTVERIFIER_H

#include "dialects/mf/MfOps.h"
#include "passes/shard/LayoutPlan.h"

namespace mf::passes {

/// Checks a layer between mf-propagate-layouts and mf-localize: operands and
/// results have the layouts that each operator's rule requires, operators that
/// are not linear read no partial values, gradients that will be partial flow
/// to values that are reduced, and collectives do what their types state. A
/// layer without layouts has nothing to check. `symbols` finds parameters.
/// Callers pass the same object for all layers of a model, because a search
/// through a model takes linear time.
mlir::LogicalResult verifyLayouts(ir::LayerOp layer,
                                  mlir::SymbolTableCollection &symbols);

/// Checks only the reshards of a layer.
mlir::LogicalResult verifyReshards(ir::LayerOp layer);

/// Returns the layout in the type of a tensor.
Layout getLayout(mlir::Value value);

/// Returns whether any value of the layer has a layout.
bool hasLayouts(ir::LayerOp layer);

/// Returns the values of a layer to which the gradient of the loss flows.
llvm::DenseSet<mlir::Value>
findDifferentiated(ir::LayerOp layer, mlir::SymbolTableCollection &symbols);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_LAYOUTVERIFIER_H
