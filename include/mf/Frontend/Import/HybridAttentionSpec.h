//===- HybridAttentionSpec.h - Window and compressed entries ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The attention of DeepSeek-V4: all query heads share one head, whose vectors
// are keys and values at once. A query sees the last tokens, the window, and
// entries, each of which pools a group of tokens. In layers with small groups
// an indexer chooses the entries of each query.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_HYBRIDATTENTIONSPEC_H
#define MF_FRONTEND_IMPORT_HYBRIDATTENTIONSPEC_H

#include "mf/Frontend/Import/RotarySpec.h"
#include <vector>

namespace mf {

/// The sizes of hybrid attention. The head size is that of queries, and of keys
/// and values.
struct HybridAttentionSpec {
  /// The ratio at which two neighbouring groups overlap, and at which an
  /// indexer chooses.
  static constexpr int64_t indexedRatio = 4;

  int64_t queryRank = 0;
  /// The dimensions of a head, the last ones, that are rotated.
  int64_t rotarySize = 0;
  /// The result is projected by groups of heads, to a latent of this width
  /// each.
  int64_t outputGroups = 1, outputRank = 0;
  /// The tokens of a group of each layer, of the later-token layers too; 0 for
  /// no entries.
  std::vector<int64_t> ratios;
  /// The tokens that a query sees, with its own.
  int64_t window = 0;
  int64_t indexHeads = 0, indexSize = 0;
  /// The entries that an indexer chooses.
  int64_t numChosen = 0;
  /// The factor of the indexer's loss; 0 for none.
  double indexLossFactor = 0;
  /// True if layers with an indexer's ratio have none, and queries see all
  /// entries.
  bool seesAllEntries = false;
  /// True if attention and indexer are fused kernels, and the indexer's loss
  /// has their gradient.
  bool isFused = false;
  /// The rotation of layers with entries. Others have the model's.
  RotarySpec entryRotary;

  int64_t getNumEntries(int64_t ratio, int64_t length) const {
    return ratio == 0 ? 0 : length / ratio;
  }
  bool hasIndexer(int64_t ratio) const {
    return ratio == indexedRatio && !seesAllEntries;
  }
};

} // namespace mf

#endif // MF_FRONTEND_IMPORT_HYBRIDATTENTIONSPEC_H
