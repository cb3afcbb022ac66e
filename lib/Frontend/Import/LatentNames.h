//===- LatentNames.h - Names of latent attention ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The names that MindSpore Transformers' classes of latent attention give their
// Cells and primitives, as tables. The names determine which weights are stored
// together.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_IMPORT_LATENTNAMES_H
#define MF_LIB_FRONTEND_IMPORT_LATENTNAMES_H

#include "FamilyNames.h"
#include <string>
#include <vector>

namespace mf {

/// Names relative to the attention Cell. A projection without a name is part of
/// another one: `queryDown` is part of `down`, for example.
struct LatentNames {
  llvm::StringRef cell;
  /// Projections of the layer's input. There is one for all parts; or one for
  /// the query's latent and one for the keys' and values' latent with the
  /// rotated part of the key; or one for each part.
  llvm::StringRef down;
  llvm::StringRef queryDown;
  llvm::StringRef keyValueDown;
  llvm::StringRef latentDown, rotaryKeyDown;
  /// Projections of a latent: one for all heads, or one for each part of a
  /// head.
  llvm::StringRef queryUp;
  llvm::StringRef queryPlain, queryRotary;
  llvm::StringRef keyValueUp;
  llvm::StringRef keyUp, valueUp;
  /// The projection of the layer's input if queries have no latent.
  llvm::StringRef query;
  llvm::StringRef queryNorm, keyValueNorm;

  llvm::StringRef split, reshape, transpose;
  llvm::StringRef tile, join;
  llvm::StringRef padValue, cutResult;
  /// Names where neighbours are moved to the halves of the rotating part.
  llvm::StringRef pairReshape, pairSlice, pairConcat;
  RotaryNames rotary;
  llvm::StringRef flash, largestLogits;
  llvm::StringRef mergeTranspose, mergeReshape;
  llvm::StringRef output;
};

const LatentNames &getLatentNames(LatentLayout layout);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_LATENTNAMES_H
