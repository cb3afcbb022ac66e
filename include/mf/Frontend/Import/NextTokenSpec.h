//===- NextTokenSpec.h - Layers that predict later tokens -------*- C++ -*-===//
//
// Multi-token prediction (DeepSeek-V3, 2024): behind the model each depth joins
// the hidden state of every token with the embedding of the token after it,
// runs one more layer, and predicts the token after that with the model's head.
//
//===----------------------------------------------------------------------===//

#ifndef MF_IMPORT_NEXTTOKENSPEC_H
#define MF_IMPORT_NEXTTOKENSPEC_H

#include <cstdint>

namespace mf {

struct NextTokenSpec {
  /// Layers behind the model, each predicting one token further; 0 is none.
  int64_t depth = 0;
  /// Weight of the mean of their losses beside the model's own.
  double lossFactor = 0.3;
  /// The first layer takes the hidden state behind the final norm, and the
  /// joining is part of each layer (the mcore graph); else it is a layer of its
  /// own before the final norm (DeepSeek's).
  bool followsNorm = false;
  /// The head runs once, on the tokens of all depths one after another. Ranks
  /// or pieces that share out the sequence have their own of each depth.
  bool joinsHeads = false;
};

} // namespace mf

#endif // MF_IMPORT_NEXTTOKENSPEC_H
