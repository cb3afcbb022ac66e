//===- LayoutVerifier.h - Checks layouts against operators ------*- C++ -*-===//

#ifndef MF_PASSES_SHARD_LAYOUTVERIFIER_H
#define MF_PASSES_SHARD_LAYOUTVERIFIER_H

#include "dialects/mf/MfOps.h"
#include "passes/shard/LayoutPlan.h"

namespace mf::passes {

/// Checks a layer between mf-propagate-layouts and mf-localize: operands and
/// results lie as each operator's rule says, nothing partial goes into an
/// operator that is not linear, gradients that will be partial go to what is
/// reduced, and collectives do what their types say. A layer without layouts
/// has nothing to check. `symbols` finds parameters: a caller has one for all
/// layers of a model, because a search through a model takes as long as the
/// model is.
mlir::LogicalResult verifyLayouts(ir::LayerOp layer,
                                  mlir::SymbolTableCollection &symbols);

/// The layout that the type of a tensor carries.
Layout getLayout(mlir::Value value);

/// Whether a layout is anywhere in the layer.
bool hasLayouts(ir::LayerOp layer);

/// The values of a layer to which the gradient of the loss goes.
llvm::DenseSet<mlir::Value>
findDifferentiated(ir::LayerOp layer, mlir::SymbolTableCollection &symbols);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_LAYOUTVERIFIER_H
