//===- LatentAttentionSpec.h - Multi-head latent attention ------*- C++ -*-===//
//
// Attention whose keys and values, and maybe queries, are projected from a
// vector per token that is narrower than they are, the latent (DeepSeek-V2,
// 2024). Some dimensions of a query or key rotate with the position, the others
// have no position; the rotating ones of a key are shared by all heads.
//
//===----------------------------------------------------------------------===//

#ifndef MF_IMPORT_LATENTATTENTIONSPEC_H
#define MF_IMPORT_LATENTATTENTIONSPEC_H

#include <cstdint>
#include <optional>

namespace mf {

/// The projections that are stored together.
enum class LatentLayout : uint8_t {
  Separate,     ///< a weight for each part (DeepSeekV2Attention)
  DownTogether, ///< all that read the layer's input are one weight
                ///< (MLASelfAttentionConcatenated)
  QueryApart    ///< query, and key and value, have weights down and up of
                ///< their own (MLASelfAttention)
};

struct LatentAttentionSpec {
  LatentLayout layout = LatentLayout::Separate;
  /// Width of the query's latent; none where queries are projected at once.
  std::optional<int64_t> queryRank;
  /// Width of the latent of keys and values.
  int64_t keyValueRank = 0;
  /// Dimensions of a query's or key's head that have no position, and that
  /// rotate; and those of a value's head.
  int64_t plainSize = 0;
  int64_t rotarySize = 0;
  int64_t valueSize = 0;
  /// RMSNorm of the latents.
  bool hasNorms = true;
  /// Flash attention gets values with zeros up to the width of keys.
  bool padsValues = true;
  /// The rotating part of a key is copied to all heads before it rotates, not
  /// after.
  bool rotatesCopies = false;
  /// The factor on attention scores.
  double scale = 1.0;

  /// The size of a query's or key's head.
  int64_t getKeySize() const { return plainSize + rotarySize; }
};

} // namespace mf

#endif // MF_IMPORT_LATENTATTENTIONSPEC_H
