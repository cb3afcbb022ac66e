//===- BlockSums.h - Gradients of rows that queries share -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_BLOCKSUMS_H
#define MF_LIB_EXEC_KERNELS_BLOCKSUMS_H

#include "HybridRows.h"
#include "mf/Exec/Kernels/Kernel.h"

namespace mf {

/// Sums of `size` numbers for each block of queries, in a workspace. The blocks
/// depend on shapes alone, so that the sums have the same bits with any number
/// of threads.
class BlockSums {
public:
  BlockSums(const HybridShape &shape, int64_t size)
      : batch(shape.batch), blocks(shape.getBlocks()), size(size) {}

  /// Runs `function` with each query of all samples and the sums of its block.
  template <typename Function>
  void run(void *workspace, ThreadPool &pool, const Function &function) const {
    pool.parallelFor(batch * blocks.count, [&](int64_t number) {
      float *sums = get(workspace, number);
      std::fill(sums, sums + size, 0.0f);
      auto [begin, count] = blocks[number % blocks.count];
      for (int64_t i = begin; i < begin + count; ++i)
        function(number / blocks.count * blocks.total + i, sums);
    });
  }

  /// Adds up the numbers [first, first + count) of a sample's blocks.
  void addUp(void *workspace, ThreadPool &pool, int64_t sample, int64_t first,
             int64_t count, DType type, void *result) const {
    const Tiles tiles(count, elementsPerTile);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, length] = tiles[tile];
      float *sum = get(workspace, sample * blocks.count) + first + begin;
      for (int64_t block = 1; block < blocks.count; ++block)
        addScaled(1,
                  get(workspace, sample * blocks.count + block) + first + begin,
                  sum, length);
      runCastLoop(DType::F32, type, sum, at(result, type, begin), length);
    });
  }

  /// Returns one number of all blocks, added up sample by sample, as programs
  /// do that call CANN's kernel for each sample.
  float addUp(void *workspace, int64_t place) const {
    float sum = 0;
    for (int64_t sample = 0; sample < batch; ++sample) {
      float ofSample = 0;
      for (int64_t block = 0; block < blocks.count; ++block)
        ofSample += get(workspace, sample * blocks.count + block)[place];
      sum += ofSample;
    }
    return sum;
  }

private:
  float *get(void *workspace, int64_t number) const {
    return static_cast<float *>(workspace) + number * size;
  }

  int64_t batch;
  Tiles blocks;
  int64_t size;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_BLOCKSUMS_H
