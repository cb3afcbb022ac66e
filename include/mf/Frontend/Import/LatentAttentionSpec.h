//===- LatentAttentionSpec.h - Multi-head latent attention ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Attention whose keys and values, and optionally queries, are projected from a
// narrower vector per token, the latent (DeepSeek-V2, 2024). Some dimensions of
// a query or key are rotated by the position; the others do not depend on it.
// All heads share the rotated part of a key.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_LATENTATTENTIONSPEC_H
#define MF_FRONTEND_IMPORT_LATENTATTENTIONSPEC_H

#include <cstdint>
#include <optional>

namespace mf {

/// The projections that are stored in one weight.
enum class LatentLayout : uint8_t {
  Separate,     ///< a weight for each part (DeepSeekV2Attention)
  DownTogether, ///< all projections that read the layer's input are one weight
                ///< (MLASelfAttentionConcatenated)
  QueryApart    ///< the query, and key and value, have separate down and up
                ///< weights (MLASelfAttention)
};

/// The sizes and the weights of latent attention.
struct LatentAttentionSpec {
  LatentLayout layout = LatentLayout::Separate;
  /// The width of the query's latent. Empty if queries are projected directly.
  std::optional<int64_t> queryRank;
  /// The width of the latent of keys and values.
  int64_t keyValueRank = 0;
  /// The dimensions of a query's or key's head that are not rotated and that
  /// are rotated, and the dimensions of a value's head.
  int64_t plainSize = 0;
  int64_t rotarySize = 0;
  int64_t valueSize = 0;
  /// True if the latents are normalized by RMSNorm.
  bool hasNorms = true;
  /// True if values are padded with zeros to the width of keys for flash
  /// attention.
  bool padsValues = true;
  /// True if the rotated part of a key is copied to all heads before the
  /// rotation instead of after it.
  bool rotatesCopies = false;
  /// True if the end of the step reads the largest logit of each head.
  bool keepsLargestLogits = false;
  /// The factor on attention scores.
  double scale = 1.0;

  /// Returns the size of a query's or key's head.
  int64_t getKeySize() const { return plainSize + rotarySize; }
};

} // namespace mf

#endif // MF_FRONTEND_IMPORT_LATENTATTENTIONSPEC_H
