//===- LearnedPrefix.h - Trained keys and values ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_LEARNEDPREFIX_H
#define MF_LIB_FRONTEND_IMPORT_LEARNEDPREFIX_H

#include "BodyLayer.h"

namespace mf {

/// The symbol of the zeros that are concatenated with the causal mask, so that
/// all tokens attend to the prefix.
inline constexpr llvm::StringLiteral learnedPrefixMaskTable =
    "learned_prefix_mask";

/// Returns the type of the keys and values of a layer, which each layer passes
/// to the next one: [2, batch, prefix, key and value heads * head size], keys
/// first.
mlir::Type getPrefixType(mlir::MLIRContext *context, const ModelSpec &spec);

/// Adds the parameters of the prefix to the model, the only trained ones.
/// `addPrefix` computes the layers' keys and values from them.
void addPrefixParameters(mf::ir::ModelOp model, const ModelSpec &spec);

/// Makes the keys and values of all layers, in the embedding's layer.
llvm::SmallVector<mlir::Value> addPrefix(CellBuilder &cells);

/// Concatenates the keys and values of the prefix with those of the tokens:
/// each [batch, key and value heads, prefix + sequence, head size].
void joinPrefix(CellBuilder &cells, mlir::Value prefix, AttentionHeads &heads);

/// Marks all weights of the model except those of the prefix as untrained.
void freezeBesidePrefix(mf::ir::ModelOp model, const ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_LEARNEDPREFIX_H
