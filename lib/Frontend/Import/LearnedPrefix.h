//===- LearnedPrefix.h - Trained keys and values ----------------*- C++ -*-===//

#ifndef MF_LIB_IMPORT_LEARNEDPREFIX_H
#define MF_LIB_IMPORT_LEARNEDPREFIX_H

#include "BodyLayer.h"

namespace mf {

/// Zeros beside the causal mask, in place of which attention sees the prefix.
inline constexpr llvm::StringLiteral learnedPrefixMaskTable =
    "learned_prefix_mask";

/// The type in which layer after layer hands a layer's keys and values on:
/// [2, batch, prefix, key and value heads * head size], keys first.
mlir::Type getPrefixType(mlir::MLIRContext *context, const ModelSpec &spec);

/// Adds the parameters of the prefix to the model, which all others stay
/// untrained beside. The layers' keys and values come from `addPrefix`.
void addPrefixParameters(mf::ir::ModelOp model, const ModelSpec &spec);

/// Makes the keys and values of all layers, in the embedding's layer.
llvm::SmallVector<mlir::Value> addPrefix(CellBuilder &cells);

/// Keys and values of the tokens behind those of the prefix, each [batch, key
/// and value heads, prefix + sequence, head size].
void joinPrefix(CellBuilder &cells, mlir::Value prefix, AttentionHeads &heads);

/// Makes all weights of the model but those of the prefix untrained.
void freezeBesidePrefix(mf::ir::ModelOp model, const ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_IMPORT_LEARNEDPREFIX_H
