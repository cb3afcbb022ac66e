//===- ExpertNames.h - Names of operators with experts ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_EXPERTNAMES_H
#define MF_LIB_FRONTEND_IMPORT_EXPERTNAMES_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Names of a router, relative to the routed experts' Cell.
struct RouterNames {
  /// The Cell of the weight, and the product with it.
  llvm::StringRef weightCell, product;
  llvm::StringRef cast, activation;
  llvm::StringRef choose, addBias, chooseBiased, gatherGate;
  llvm::StringRef chooseGroups, sumGroup, compareGroups, maskGroups;
  llvm::StringRef sum, addEpsilon, divide, scale;
  // Losses.
  llvm::StringRef oneHot, meanShares, meanScores, lossProduct, lossMean,
      lossFactor, addLoss;
  // Parameters.
  llvm::StringRef bias, shares;
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
  // Parameters.
  llvm::StringRef gateUp, down;
};

/// Names of a feed forward with experts.
struct ExpertNames {
  llvm::StringRef cell;
  /// Relative to it; empty if the experts' Cell is it.
  llvm::StringRef routed;
  llvm::StringRef shared, sharedGate, sharedProduct;
  /// The table of experts by token id, if there is one.
  llvm::StringRef tokenTable = {};
  llvm::StringRef cast, reshape, activateGate, applyGate, addShared;
  /// SwiGLU as one operator, relative to a feed forward; empty if it is not.
  llvm::StringRef swiglu;
  /// Relative to the layer.
  llvm::StringRef castResult;
  RouterNames router;
  DroplessNames dropless;
};

ExpertNames getExpertNames(const ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_EXPERTNAMES_H
