//===- BodyLayer.h - Attention and feed forward -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_BODYLAYER_H
#define MF_LIB_FRONTEND_IMPORT_BODYLAYER_H

#include "CellBuilder.h"

namespace mf {

/// Symbols of the tables that body layers read.
inline constexpr llvm::StringLiteral rotaryCosineTable = "freqs_cos";
inline constexpr llvm::StringLiteral rotarySineTable = "freqs_sin";
inline constexpr llvm::StringLiteral causalMaskTable = "causal_mask";
/// Masks add this to a score that does not count.
inline constexpr double hiddenScore = -10000.0;

/// Symbols of the bias of all scores, and of the slopes from which flash
/// attention computes it.
inline constexpr llvm::StringLiteral alibiTable = "alibi";
inline constexpr llvm::StringLiteral alibiSlopes = "alibi_slopes";

/// Returns true if body layer `index`, with or without experts, returns a loss
/// besides its hidden state.
bool hasLayerLoss(const ModelSpec &spec, int64_t index, bool hasExperts);

/// Returns the name under which a step reports the losses of body layers, and
/// what 1 of the reported number adds to the loss. The name is null if no layer
/// has a loss.
std::pair<llvm::StringRef, double> getLayerLossName(const ModelSpec &spec);

/// Adds a norm, attention and a residual addition, then a norm, a feed forward
/// (with experts if `hasExperts`) and a residual addition. `hidden` is [batch,
/// sequence, width of the residual] in the residual type. Returns the new
/// hidden state and the layer's own losses as one, if it has any.
llvm::SmallVector<mlir::Value, 2>
addBodyLayer(CellBuilder &cells, mlir::Value hidden, bool hasExperts = false);

/// A dense feed forward.
struct FeedForwardTraits {
  llvm::StringRef cell;
  int64_t size = 0;
  /// True if model-parallel ranks shard its neurons.
  bool isCut = true;
  /// The name of the activation and of its product with the up projection,
  /// where one operator is to do both; empty for names of their own.
  llvm::StringRef fused = "";
};

/// Returns down(silu(gate(x)) * up(x)), the SwiGLU of Shazeer, 2020, for
/// tensors with three dimensions; or a variant with GELU or without the gate.
mlir::Value addFeedForward(CellBuilder &cells, mlir::Value input,
                           const FeedForwardTraits &traits);

/// Adds the attention Cell for a normalised input in the compute type.
mlir::Value addAttention(CellBuilder &cells, mlir::Value input);
/// Adds the attention of a model with latent attention.
mlir::Value addLatentAttention(CellBuilder &cells, mlir::Value input);

/// The result of hybrid attention; `loss` is that of its indexer, a scalar in
/// fp32, or null.
struct HybridResult {
  mlir::Value hidden, loss;
};
/// Adds the attention of a model with hybrid attention.
HybridResult addHybridAttention(CellBuilder &cells, mlir::Value input);
/// Returns true if the indexer of body layer `index` has a loss.
bool hasIndexerLoss(const ModelSpec &spec, int64_t index);
/// Adds the tables that hybrid attention reads.
void addHybridTables(mf::ir::ModelOp model, const ModelSpec &spec);

/// Rotary embedding of [batch, heads, sequence, head size], in the open
/// attention Cell.
mlir::Value addRotary(CellBuilder &cells, mlir::Value heads,
                      const RotaryNames &names);

/// The inputs of attention, each [batch, heads, sequence, head size].
struct AttentionHeads {
  mlir::Value query, key, value;
  /// The positions relative to the end of each sample's prefix, [batch,
  /// sequence]; all tokens attend to the prefix. Null without prefixes.
  mlir::Value behindPrefix = {};
};

/// Returns softmax(query * key^T * scale + mask) * value, as separate operators
/// in the open attention Cell.
mlir::Value addScores(CellBuilder &cells, AttentionHeads heads, double scale);

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

#endif // MF_LIB_FRONTEND_IMPORT_BODYLAYER_H
