//===- OperatorNames.h - Names of a family's operators ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The names that MindSpore Transformers' layer classes give the primitives of
// their Cells. The classes compute the same layers, but users' patterns contain
// the names. Cells with a parameter have their names in the tables of Cells.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_FAMILIES_OPERATORNAMES_H
#define MF_FRONTEND_FAMILIES_OPERATORNAMES_H

#include "llvm/ADT/StringRef.h"

namespace mf {

/// The head's layer in all models, and the factor of the rows of its weight
/// where the rows are normalised, as only Baichuan has them.
inline constexpr llvm::StringLiteral headLayer = "lm_head";
inline constexpr llvm::StringLiteral headFactor = "norm_scale";

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
  llvm::StringRef splitKeyValue, splitQueryKeyValue = "split_qkv";
  llvm::StringRef splitHeads = "reshape", transposeHeads = "transpose";
  RotaryNames rotary;
  llvm::StringRef flash;
  ScoreNames scores;
  llvm::StringRef mergeTranspose = "merger_head_transpose",
                  mergeReshape = "reshape";
  /// The dropout of the result, in this Cell; empty if other Cells drop it.
  llvm::StringRef dropout;
  /// Relative to the layer: the result's way back into the residual stream.
  llvm::StringRef castResult;
};

/// Names of latent attention, relative to the attention Cell.
struct LatentNames {
  llvm::StringRef split, reshape, transpose;
  llvm::StringRef tile, join;
  llvm::StringRef padValue, cutResult;
  /// Names where neighbours are moved to the halves of the rotating part.
  llvm::StringRef pairReshape, pairSlice, pairConcat;
  RotaryNames rotary;
  llvm::StringRef flash, largestLogits;
  llvm::StringRef mergeTranspose, mergeReshape;
};

struct FeedForwardNames {
  llvm::StringRef cell;
  /// Relative to the feed forward Cell; empty if only the projections cast.
  llvm::StringRef cast;
  llvm::StringRef reshape, split;
  llvm::StringRef activation, concatenatedActivation, multiply;
  llvm::StringRef
      fastActivation;      ///< Replaces `activation` if it is another Cell.
  llvm::StringRef dropout; ///< As in AttentionNames.
  /// Replace `split` and `multiply` if the activation's Cell does both.
  llvm::StringRef activationSplit, activationMultiply;
  llvm::StringRef castResult; ///< Relative to the layer.
};

/// Names of a router, relative to the routed experts' Cell.
struct RouterNames {
  /// The product with the weight.
  llvm::StringRef product;
  llvm::StringRef cast, activation;
  llvm::StringRef choose, addBias, chooseBiased, gatherGate;
  llvm::StringRef chooseGroups, sumGroup, compareGroups, maskGroups;
  llvm::StringRef sum, addEpsilon, divide, scale;
  // Losses.
  llvm::StringRef oneHot, meanShares, meanScores, lossProduct, lossMean,
      lossFactor, addLoss;
  /// The parameter that records the share of each row's choices.
  llvm::StringRef shares;
};

/// Names of the way to experts without capacity and back.
struct DroplessNames {
  llvm::StringRef transposeChoices, reshape, cast;
  llvm::StringRef sort, remainder, gather, oneHot, transposePlaces;
  llvm::StringRef safeIds, safeSort, safeGather, safeCounts, safeSlice;
  llvm::StringRef castWeight;
  /// The name of all operators that MindSpore has as one function (Morph).
  llvm::StringRef morph;
  llvm::StringRef gatherBack, weigh, sum;
};

/// Names of a feed forward with experts.
struct ExpertNames {
  llvm::StringRef cell;
  /// The Cell of the routed experts beside shared ones, relative to it; empty
  /// if it is the same.
  llvm::StringRef routed;
  /// The table of experts by token id, if there is one.
  llvm::StringRef tokenTable;
  llvm::StringRef cast;
  /// The gate of shared experts.
  llvm::StringRef castGate, activateGate, applyGate;
  /// SwiGLU as one operator, relative to a feed forward; empty if it is not
  /// in this family.
  llvm::StringRef swiglu;
  /// Relative to the layer.
  llvm::StringRef castResult;
  RouterNames router;
  /// The router of experts with a capacity.
  RouterNames capacityRouter;
  DroplessNames dropless;
};

/// Names of layers that predict later tokens.
struct NextTokenNames {
  /// The prefix of the table before the index, and its name.
  llvm::StringRef embedding, table;
  /// The Cell of the layer, if it is one within another.
  llvm::StringRef layer;
  /// The end of several residual streams, if it is a Cell inside the outer one.
  llvm::StringRef streamsHead;
};

struct OperatorNames {
  llvm::StringRef gather;
  /// The sum with rows of the trained table of positions; empty for families
  /// without.
  llvm::StringRef positionAdd;
  /// The end of several residual streams, before the final norm.
  llvm::StringRef streamsHead;
  /// The factor of the residual stream, if it has one.
  llvm::StringRef residualScale;
  /// The cast back from the norm's type; the cast into it is `cast`.
  llvm::StringRef normCastOut = "cast";
  llvm::StringRef biasAdd = "bias_add";
  /// Names of the dropout operators: for the results of the output projections
  /// of attention and feed forward, relative to these; for the addition of
  /// these results to the residual stream, relative to the layer; and for the
  /// result of the embedding. Empty for families without them.
  llvm::StringRef linearDropout, residualDropout, embeddingDropout;
  AttentionNames attention;
  LatentNames latent;
  FeedForwardNames feedForward;
  ExpertNames experts;
  NextTokenNames nextTokens;
};

} // namespace mf

#endif // MF_FRONTEND_FAMILIES_OPERATORNAMES_H
