//===- NextTokenSpec.h - Layers that predict later tokens -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Multi-token prediction (DeepSeek-V3, 2024): each additional layer joins the
// hidden state of every token with the embedding of the next token, runs one
// more layer, and predicts the token after that with the model's head.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_NEXTTOKENSPEC_H
#define MF_FRONTEND_IMPORT_NEXTTOKENSPEC_H

#include <cstdint>

namespace mf {

/// The additional layers of a model.
struct NextTokenSpec {
  /// The number of additional layers, each of which predicts one token further;
  /// 0 for none.
  int64_t depth = 0;
  /// The weight of the mean of their losses, which is added to the model's own
  /// loss.
  double lossFactor = 0.3;
  /// True if all ranks have all outputs of the joining (the dynamic graph).
  bool joinsWhole = false;
  /// True if the head runs once, on the concatenated tokens of all depths.
  /// Ranks or pieces that share the sequence have their own part of each depth.
  bool joinsHeads = false;
};

} // namespace mf

#endif // MF_FRONTEND_IMPORT_NEXTTOKENSPEC_H
