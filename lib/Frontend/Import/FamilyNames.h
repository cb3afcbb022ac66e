//===- FamilyNames.h - Names of Cells and parameters per family -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The names that MindSpore Transformers' layer classes give their Cells and
// primitives. The classes compute the same layers, but users' patterns and
// checkpoints contain the names.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_IMPORT_FAMILYNAMES_H
#define MF_LIB_FRONTEND_IMPORT_FAMILYNAMES_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Leaf names of a rotary embedding Cell.
struct RotaryNames {
  llvm::StringRef cell;
  /// Relative to the attention Cell, because not all Cells cast themselves.
  llvm::StringRef cast;
  llvm::StringRef slice, negate, concat;
  llvm::StringRef multiply, add;
  /// Names of the form that rotates neighbouring pairs.
  llvm::StringRef reshape = {}, subtract = {}, stack = {};
  /// Relative to the attention Cell: the halves of a head that turn with
  /// positions of their own.
  llvm::StringRef splitHalves = {}, joinHalves = {};
};

/// Names of the score path next to flash attention, relative to the attention
/// Cell.
struct ScoreNames {
  llvm::StringRef repeat, product, scale, mask, castIn, softmax, castOut,
      weightedSum;
  llvm::StringRef alibi = {}; ///< Empty for families without it.
  llvm::StringRef dropout = {};
  /// The scales of query and key, where they have them in place of scores.
  llvm::StringRef scaleHeads = {};
  /// The scale by the layer's number.
  llvm::StringRef scaleLayer = {};
};

struct AttentionNames {
  llvm::StringRef cell;
  llvm::StringRef query, key, value;
  llvm::StringRef keyValue, splitKeyValue;
  llvm::StringRef queryKeyValue, splitQueryKeyValue;
  llvm::StringRef queryNorm, keyNorm;
  llvm::StringRef splitHeads, transposeHeads;
  RotaryNames rotary;
  llvm::StringRef flash;
  ScoreNames scores;
  llvm::StringRef mergeTranspose, mergeReshape;
  llvm::StringRef output;
  /// The dropout of the result, in this Cell; empty if other Cells drop it.
  llvm::StringRef dropout;
  /// Relative to the layer: the result's way back into the residual stream.
  llvm::StringRef castResult;
};

struct FeedForwardNames {
  llvm::StringRef cell;
  /// Relative to the feed forward Cell; empty if only the projections cast.
  llvm::StringRef cast;
  llvm::StringRef gate, up, gateUp, reshape, split, down;
  llvm::StringRef activation, concatenatedActivation, multiply;
  llvm::StringRef
      fastActivation;      ///< Replaces `activation` if it is another Cell.
  llvm::StringRef dropout; ///< As in AttentionNames.
  /// Replace `split` and `multiply` if the activation's Cell does both.
  llvm::StringRef activationSplit, activationMultiply;
  llvm::StringRef castResult; ///< Relative to the layer.
};

/// Names of layers that predict later tokens.
struct NextTokenNames {
  /// Prefixes of parameters before the index: of the table, of the layer that
  /// joins it with the hidden state, and of the norm after the layer. The name
  /// of the table follows the index.
  llvm::StringRef embedding, table;
  llvm::StringRef fuser, outputNorm;
  llvm::StringRef hiddenNorm, embeddingNorm, concat, join;
  /// The Cell of the layer, if it is one within another.
  llvm::StringRef layer;
  /// The norm after the layer, if it is a Cell inside the outer one.
  llvm::StringRef innerNorm;
  /// The end of several residual streams, if it is a Cell inside the outer one.
  llvm::StringRef streamsHead = {};
};

struct FamilyNames {
  // Parameters outside the layers, and the prefix of those inside.
  llvm::StringRef embeddingWeight, layers, finalNorm, head;
  /// The end of several residual streams, before the final norm.
  llvm::StringRef streamsHead = {};
  llvm::StringRef gather;
  /// The trained table of positions, and the sum with its rows; empty for
  /// families without.
  llvm::StringRef positionWeight, positionAdd;
  llvm::StringRef inputNorm, postAttentionNorm;
  /// The factor of the residual stream, if it has one.
  llvm::StringRef residualScale;
  /// The operator of a norm's Cell and its parameters.
  llvm::StringRef norm = "norm", normWeight = "weight", normBias = "bias";
  /// The cast back from the norm's type; the cast into it is `cast`.
  llvm::StringRef normCastOut;
  llvm::StringRef biasAdd;
  /// Names of the dropout operators: for the results of the output projections
  /// of attention and feed forward, relative to these; for the addition of
  /// these results to the residual stream, relative to the layer; and for the
  /// result of the embedding. Empty for families without them.
  llvm::StringRef linearDropout, residualDropout, embeddingDropout;
  AttentionNames attention;
  FeedForwardNames feedForward;
  NextTokenNames nextTokens;
};

const FamilyNames &getFamilyNames(ModelFamily family);

// Families whose layers have LayerNorm.
FamilyNames getGlmNames();
FamilyNames getGpt2Names();
FamilyNames getSparkNames();

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_FAMILYNAMES_H
