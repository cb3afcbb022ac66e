//===- AttentionShape.h - The blocks of attention ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_ATTENTIONSHAPE_H
#define MF_LIB_EXEC_KERNELS_ATTENTIONSHAPE_H

#include "AttentionLoops.h"
#include "MatrixProduct.h"
#include "Tiles.h"
#include "mf/Exec/Kernels/Kernel.h"
#include "mf/Program/Signatures/KernelSpec.h"
#include <map>
#include <memory>

namespace mf {

/// softmax(scale * q k^T) v for query heads [batch, heads, queries, dim] and
/// key heads [batch, keyHeads, keys, dim], with values [.., valueDim]. With
/// slopes, slope * (key - query) is added to each scaled score of a head
/// (ALiBi).
struct AttentionShape {
  DType type = DType::F32;
  int64_t batch = 0, heads = 0, keyHeads = 0;
  int64_t queries = 0, keys = 0, dim = 0, valueDim = 0;
  float scale = 1;
  /// The last query sees all keys, each one before it one key less.
  bool causal = true;
  /// True if the tensors hold only `partQueries` of the `queries` rows. The
  /// whole then has as many queries as keys.
  bool isPart = false;
  int64_t partQueries = 0;
  AttentionInputs optional;
  /// The factor of probabilities that are not dropped: 1 / (1 - rate).
  float keptFactor = 1;

  /// Returns the number of query heads that share a key head.
  int64_t getGroup() const { return heads / keyHeads; }
};

/// A block of consecutive queries and keys.
struct AttentionBlock {
  int64_t firstQuery, queries, firstKey, keys;
};

/// Returns the distance from the position of query `query` to that of key
/// `key`. The last query has the position of the last key.
inline int64_t getDistance(const AttentionShape &shape, int64_t query,
                           int64_t key) {
  return key - query - (shape.keys - shape.queries);
}

/// Returns the block's scores, whose rows are at distance `stride`, with the
/// columns that count. `slope` is that of the head, 0 without ALiBi.
inline ScoreBlock getScores(const AttentionShape &shape,
                            const AttentionBlock &block, float *scores,
                            int64_t stride, float slope) {
  const int64_t distance = getDistance(shape, block.firstQuery, block.firstKey);
  ScoreBlock result{scores, block.queries, block.keys, stride,  block.keys,
                    0,      shape.scale,   slope,      distance};
  if (shape.causal) {
    result.visible = 1 - distance;
    result.visiblePerRow = 1;
  }
  return result;
}

/// The fixed cut into blocks. A block of keys ends where the last query of the
/// block of queries sees no more: masked blocks do not exist.
class AttentionBlocks {
public:
  static constexpr int64_t queriesPerBlock = 64;
  static constexpr int64_t keysPerBlock = 512;
  /// The distance between rows of a block of scores. It is not a power of two,
  /// because multiples of one would share few sets of the caches.
  static constexpr int64_t scoreStride = keysPerBlock + 16;

  explicit AttentionBlocks(const AttentionShape &shape)
      : shape(shape), queryTiles(shape.queries, queriesPerBlock),
        keyTiles(shape.keys, keysPerBlock) {}

  int64_t getNumQueryBlocks() const { return queryTiles.count; }
  int64_t getNumKeyBlocks() const { return keyTiles.count; }

  /// Returns a block, which has 0 keys if none of them is seen.
  AttentionBlock get(int64_t queryBlock, int64_t keyBlock) const {
    auto [firstQuery, queries] = queryTiles[queryBlock];
    auto [firstKey, keys] = keyTiles[keyBlock];
    if (shape.causal) {
      int64_t seen = firstQuery + queries + shape.keys - shape.queries;
      keys = std::clamp<int64_t>(seen - firstKey, 0, keys);
    }
    return {firstQuery, queries, firstKey, keys};
  }

  ScoreBlock getScores(const AttentionBlock &block, float *scores,
                       float slope) const {
    return mf::getScores(shape, block, scores, scoreStride, slope);
  }

private:
  AttentionShape shape;
  Tiles queryTiles, keyTiles;
};

/// The query rows [first, first + count) that a kernel has in its tensors. A
/// part is computed in the blocks of the whole, where rows that are elsewhere
/// are zeros, so that a row has the same place in products of the same size,
/// and the same bits. Nothing is copied if a part begins and ends with a block.
struct QueryRows {
  int64_t first, count;

  /// Selects all rows, or the part that begins at the value of input `index`. A
  /// value outside of the keys is clamped.
  QueryRows(const AttentionShape &shape, llvm::ArrayRef<void *> inputs,
            size_t index);

  /// Return the blocks of queries that contain some of the rows.
  int64_t getFirstBlock() const {
    return first / AttentionBlocks::queriesPerBlock;
  }
  int64_t getNumBlocks() const {
    return (first + count - 1) / AttentionBlocks::queriesPerBlock + 1 -
           getFirstBlock();
  }

  /// The rows of a block that this kernel has: the index of the first in the
  /// block, its row in a tensor of all heads, and their number.
  struct Own {
    int64_t inBlock, row, size;
  };
  Own getOwn(const AttentionBlock &block, int64_t head) const {
    const int64_t begin = std::max(first, block.firstQuery);
    const int64_t end =
        std::min(first + count, block.firstQuery + block.queries);
    return {begin - block.firstQuery, head * count + begin - first,
            end - begin};
  }

  /// Returns the block's rows, of `columns` elements each, of a tensor. Copies
  /// them to `memory` if they are not in one place.
  const void *read(const void *tensor, DType type, int64_t columns,
                   const AttentionBlock &block, int64_t head,
                   void *memory) const;
};

/// Products of one kind for every size of block that occurs.
class BlockProducts {
public:
  using MakeSpec = ProductSpec (*)(const AttentionShape &,
                                   const AttentionBlock &);

  /// Returns false if oneDNN has no such product.
  bool prepare(const AttentionShape &shape, MakeSpec makeSpec);

  void run(const AttentionBlock &block, const void *a, const void *b,
           float *c) const {
    products.at({block.queries, block.keys})->run(a, b, c);
  }

private:
  std::map<std::pair<int64_t, int64_t>, std::shared_ptr<const Product>>
      products;
};

/// Returns the product scores = q k^T.
ProductSpec getScoreProduct(const AttentionShape &shape,
                            const AttentionBlock &block);

class SpecChecker;
/// Checks the inputs after the first `inputs`: for a part the position of the
/// first query, then optionally the slopes, the dropout mask and the starts of
/// documents. Reads `scale`, `causal`, `rate` and the shapes of q, k and v, the
/// first inputs. Returns whether the shape is valid.
bool readAttentionShape(const KernelSpec &spec, size_t inputs,
                        SpecChecker &checker, AttentionShape &shape);

/// Returns the slope of query head `head` of all batches; 0 without slopes.
inline float getSlope(llvm::ArrayRef<void *> inputs,
                      const AttentionShape &shape, int64_t head) {
  return shape.optional.slopes
             ? static_cast<const float *>(
                   inputs[*shape.optional.slopes])[head % shape.heads]
             : 0.0f;
}

/// Hides keys before their documents from the rows of a block of scores, as
/// `starts` defines. After the softmax such a score is 0. `head` is an index
/// over all batches.
void hideOtherDocuments(const AttentionShape &shape,
                        llvm::ArrayRef<void *> inputs, const QueryRows &rows,
                        const AttentionBlock &block, int64_t head,
                        float *scores);

/// Drops the elements of a block of probabilities or their gradients that the
/// mask drops, and multiplies the others by the factor of kept ones. The block
/// has type `type` in rows of scoreStride floats. `rows` are the query rows of
/// the tensors, and `head` is an index over all batches.
void dropBlock(const AttentionShape &shape, llvm::ArrayRef<void *> inputs,
               const QueryRows &rows, const AttentionBlock &block, int64_t head,
               DType type, void *scores);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_ATTENTIONSHAPE_H
