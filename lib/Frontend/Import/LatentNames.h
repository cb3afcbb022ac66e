//===- LatentNames.h - Names of latent attention ----------------*- C++ -*-===//
//
// The names that MindSpore Transformers' classes of latent attention give their
// Cells and primitives, as tables: the names decide which weights are stored
// together.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_IMPORT_LATENTNAMES_H
#define MF_LIB_IMPORT_LATENTNAMES_H

#include "FamilyNames.h"
#include <string>
#include <vector>

namespace mf {

/// Names relative to the attention Cell. A projection without a name is part of
/// another: `queryDown` of `down`, say.
struct LatentNames {
  llvm::StringRef cell;
  /// From the layer's input: all at once, or the query's latent and those of
  /// keys and values with the rotating part of the key, or each alone.
  llvm::StringRef down;
  llvm::StringRef queryDown;
  llvm::StringRef keyValueDown;
  llvm::StringRef latentDown, rotaryKeyDown;
  /// Projections from a latent: of all heads at once, or one for each part of a
  /// head.
  llvm::StringRef queryUp;
  llvm::StringRef queryPlain, queryRotary;
  llvm::StringRef keyValueUp;
  llvm::StringRef keyUp, valueUp;
  /// From the layer's input, where queries have no latent.
  llvm::StringRef query;
  llvm::StringRef queryNorm, keyValueNorm;

  llvm::StringRef split, reshape, transpose;
  llvm::StringRef tile, join;
  llvm::StringRef padValue, cutResult;
  /// Names where neighbours are moved to the halves of the rotating part.
  llvm::StringRef pairReshape, pairSlice, pairConcat;
  RotaryNames rotary;
  llvm::StringRef flash;
  llvm::StringRef mergeTranspose, mergeReshape;
  llvm::StringRef output;
};

const LatentNames &getLatentNames(LatentLayout layout);

/// Names that the attention Cell registers, relative to the layer, in order.
std::vector<std::string> getLatentCellNames(const ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_IMPORT_LATENTNAMES_H
