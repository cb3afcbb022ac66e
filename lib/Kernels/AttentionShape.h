//===- AttentionShape.h - Attention cut into blocks -----------*- C++ -*-===//

#ifndef MF_LIB_KERNELS_ATTENTIONSHAPE_H
#define MF_LIB_KERNELS_ATTENTIONSHAPE_H

#include "AttentionLoops.h"
#include "OneDnn.h"
#include "Tiles.h"
#include "mf/Kernels/Kernel.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <memory>

namespace mf {

/// softmax(scale * q k^T) v for query heads [batch, heads, queries, dim] and
/// key heads [batch, keyHeads, keys, dim], values [.., valueDim]. With slopes,
/// slope * (key - query) is added to each scaled score of a head (ALiBi).
struct AttentionShape {
  DType type = DType::F32;
  int64_t batch = 0, heads = 0, keyHeads = 0;
  int64_t queries = 0, keys = 0, dim = 0, valueDim = 0;
  float scale = 1;
  /// A query sees the keys up to its own position.
  bool causal = true;
  /// The position of the first query among the keys. Of the whole that is
  /// where the last query has the position of the last key; of a part it is
  /// data, and this is the last of the places where the part can begin.
  int64_t firstQuery = 0;
  bool isPart = false;

  /// Query heads that share a key head.
  int64_t getGroup() const { return heads / keyHeads; }
};

/// A block of consecutive queries and keys.
struct AttentionBlock {
  int64_t firstQuery, queries, firstKey, keys;
};

/// The fixed cut into blocks. A block of keys ends where the last query of the
/// block of queries sees no more, of a part up to `keyStep` behind: masked
/// blocks do not exist, and the sizes that occur are few.
class AttentionBlocks {
public:
  static constexpr int64_t queriesPerBlock = 64;
  static constexpr int64_t keysPerBlock = 512;
  static constexpr int64_t keyStep = 64;
  /// From one row of a block of scores to the next; not a power of two, whose
  /// multiples would share sets of the caches.
  static constexpr int64_t scoreStride = keysPerBlock + 16;

  explicit AttentionBlocks(const AttentionShape &shape)
      : shape(shape), queryTiles(shape.queries, queriesPerBlock),
        keyTiles(shape.keys, keysPerBlock) {}

  /// The same blocks if the first query stands where input `index` says. A
  /// place outside of the keys is taken for the nearest inside.
  AttentionBlocks placeQueries(llvm::ArrayRef<void *> inputs,
                               size_t index) const {
    AttentionBlocks placed = *this;
    if (shape.isPart)
      placed.shape.firstQuery = std::clamp<int64_t>(
          *static_cast<const int32_t *>(inputs[index]), 0, shape.firstQuery);
    return placed;
  }

  int64_t getNumQueryBlocks() const { return queryTiles.count; }
  int64_t getNumKeyBlocks() const { return keyTiles.count; }

  /// With 0 keys if none of them is seen.
  AttentionBlock get(int64_t queryBlock, int64_t keyBlock) const {
    auto [firstQuery, queries] = queryTiles[queryBlock];
    auto [firstKey, keys] = keyTiles[keyBlock];
    if (shape.causal) {
      int64_t seen = shape.firstQuery + firstQuery + queries - firstKey;
      if (shape.isPart)
        seen = llvm::divideCeilSigned(seen, keyStep) * keyStep;
      keys = std::clamp<int64_t>(seen, 0, keys);
    }
    return {firstQuery, queries, firstKey, keys};
  }

  /// `slope` of the head, 0 without ALiBi.
  ScoreBlock getScores(const AttentionBlock &block, float *scores,
                       float slope) const {
    const int64_t distance =
        block.firstKey - block.firstQuery - shape.firstQuery;
    ScoreBlock result{scores,      block.queries, block.keys,
                      scoreStride, block.keys,    0,
                      shape.scale, slope,         distance};
    if (shape.causal) {
      result.visible = 1 - distance;
      result.visibleStep = 1;
    }
    return result;
  }

  /// Calls `action` with blocks of every size that may occur, some of them
  /// several times.
  void forEachSize(
      llvm::function_ref<void(const AttentionBlock &)> action) const;

private:
  AttentionShape shape;
  Tiles queryTiles, keyTiles;
};

/// Products of one kind for every size of block that occurs.
class BlockProducts {
public:
  using MakeSpec = ProductSpec (*)(const AttentionShape &,
                                   const AttentionBlock &);

  /// False if oneDNN has no such product.
  bool prepare(const AttentionShape &shape, MakeSpec makeSpec);

  void run(const AttentionBlock &block, const void *a, const void *b,
           float *c) const {
    products.at({block.queries, block.keys})->run(a, b, c);
  }

private:
  std::map<std::pair<int64_t, int64_t>, std::shared_ptr<const Product>>
      products;
};

/// scores = q k^T
ProductSpec getScoreProduct(const AttentionShape &shape,
                            const AttentionBlock &block);

class SpecChecker;
/// Checks what stands behind `inputs` inputs: of a part the position of the
/// first query, then maybe the slopes. Reads `scale`, `causal` and the shapes
/// of q, k and v, the first inputs. Says whether the shape can be used.
bool readAttentionShape(const KernelSpec &spec, size_t inputs,
                        SpecChecker &checker, AttentionShape &shape);

/// The slope of query head `head` of all batches, if the inputs behind the
/// first `index`, and the position of a part, hold them.
inline float getSlope(llvm::ArrayRef<void *> inputs, size_t index,
                      const AttentionShape &shape, int64_t head) {
  index += shape.isPart;
  return inputs.size() > index
             ? static_cast<const float *>(inputs[index])[head % shape.heads]
             : 0.0f;
}

} // namespace mf

#endif // MF_LIB_KERNELS_ATTENTIONSHAPE_H
