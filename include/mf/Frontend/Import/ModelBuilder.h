//===- ModelBuilder.h - A model specification as IR -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Builds an `mf.model` from a ModelSpec: forward only, with global shapes,
// unfused.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_MODELBUILDER_H
#define MF_FRONTEND_IMPORT_MODELBUILDER_H

#include "mf/Frontend/Import/ModelSpec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mf {

/// Builds the layers `@embedding`, `@layers.0` and so on, `@norm_out` and
/// `@lm_head` with their parameters, which are named as in MindSpore
/// Transformers' checkpoints. One `mf.cell_tree @cells` describes all body
/// layers, and one `@expert_cells` those with experts.
///
/// With B = microBatchSize and S = sequenceLength, the embedding takes the
/// tokens, tensor<BxSxi32>. Layers pass on tensor<BxSxhidden> in the residual
/// stream's type. `@lm_head` also takes the labels, tensor<(B*S)xi32>, and
/// returns the loss. Operators are named relative to their layer. `spec` must
/// come from readModelSpec or readHuggingFaceSpec, which check its sizes. The
/// mf dialect must be loaded.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(mlir::MLIRContext *context,
                                             const ModelSpec &spec);

} // namespace mf

#endif // MF_FRONTEND_IMPORT_MODELBUILDER_H
