//===- FlashAttentionGrad.cpp - Gradients of attention --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Scores and their softmax are computed again from the kept maxima and sums.
// With p the softmax, dp = dout v^T, delta = rowsum(out * dout) and
// ds = scale * p * (dp - delta):
//   dv += p^T dout,  dk += ds^T q,  dq += ds k.
// This takes one sweep over the blocks of a key head if the sums of dk and dv
// of the whole head fit the scratch memory (or can stay in f32 outputs) and
// there are key heads enough to occupy the threads. Otherwise there are two
// sweeps: one for dk and dv of a block of keys, one for dq of a block of
// queries.
//
//===----------------------------------------------------------------------===//

#include "AttentionShape.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "PackedAttention.h"
#include "Scratch.h"
#include <cstring>

namespace mf {
namespace {

/// Returns the number of elements of the operand type that fit a row of scores.
int64_t getNarrowStride(DType type) {
  return AttentionBlocks::scoreStride * 4 / getBytes(type);
}

/// Returns the product dp = dout v^T.
ProductSpec getSlopeProduct(const AttentionShape &shape,
                            const AttentionBlock &block) {
  ProductSpec spec = getScoreProduct(shape, block);
  spec.k = shape.valueDim;
  spec.a = {shape.valueDim, 1};
  spec.b = {1, shape.valueDim};
  return spec;
}

/// Returns the product dv += p^T dout.
ProductSpec getValueProduct(const AttentionShape &shape,
                            const AttentionBlock &block) {
  const MatrixLayout p = {1, getNarrowStride(shape.type)};
  const MatrixLayout dout = {shape.valueDim, 1};
  return {block.keys,     shape.valueDim, block.queries, p,   dout,
          shape.valueDim, shape.type,     DType::F32,    true};
}

/// Returns the product dk += ds^T q.
ProductSpec getKeyProduct(const AttentionShape &shape,
                          const AttentionBlock &block) {
  ProductSpec spec = getValueProduct(shape, block);
  spec.n = spec.cStride = shape.dim;
  spec.b = {shape.dim, 1};
  return spec;
}

/// Returns the product dq += ds k.
ProductSpec getQueryProduct(const AttentionShape &shape,
                            const AttentionBlock &block) {
  const MatrixLayout ds = {getNarrowStride(shape.type), 1};
  const MatrixLayout k = {shape.dim, 1};
  return {block.queries, shape.dim,  block.keys, ds,  k,
          shape.dim,     shape.type, DType::F32, true};
}

class FlashAttentionGradKernel : public Kernel {
public:
  explicit FlashAttentionGradKernel(const AttentionShape &shape)
      : shape(shape), blocks(shape) {
    int64_t sumBytes = shape.keys * (shape.dim + shape.valueDim) * 4;
    bool fits = shape.type == DType::F32 || sumBytes <= mostSumBytes;
    oneSweep = fits && shape.batch * shape.keyHeads >= fewKeyHeads;
  }

  bool prepare() {
    return scoreProducts.prepare(shape, getScoreProduct) &&
           slopeProducts.prepare(shape, getSlopeProduct) &&
           valueProducts.prepare(shape, getValueProduct) &&
           keyProducts.prepare(shape, getKeyProduct) &&
           queryProducts.prepare(shape, getQueryProduct);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const QueryRows queries(shape, operands.inputs, 7);
    const int64_t keyHeads = shape.batch * shape.keyHeads;
    if (oneSweep) {
      pool.parallelFor(keyHeads, [&](int64_t keyHead) {
        sweepKeys(operands, queries, keyHead, 0, blocks.getNumKeyBlocks(),
                  true);
      });
      return;
    }
    const int64_t keyBlocks = blocks.getNumKeyBlocks();
    pool.parallelFor(keyHeads * keyBlocks, [&](int64_t tile) {
      int64_t block = tile % keyBlocks;
      sweepKeys(operands, queries, tile / keyBlocks, block, block + 1, false);
    });
    const int64_t queryBlocks = queries.getNumBlocks();
    pool.parallelFor(shape.batch * shape.heads * queryBlocks,
                     [&](int64_t tile) {
                       sweepQueries(operands, queries, tile / queryBlocks,
                                    queries.getFirstBlock() + queryBlocks - 1 -
                                        tile % queryBlocks);
                     });
  }

private:
  static constexpr int64_t mostSumBytes = int64_t{1} << 20;
  static constexpr int64_t fewKeyHeads = 8;
  static constexpr int64_t rows = AttentionBlocks::queriesPerBlock;
  static constexpr int64_t scoreCount = rows * AttentionBlocks::scoreStride;

  /// Scratch memory with the results for one block of queries, and with copies
  /// of the block's rows where they are not all in the inputs.
  struct Work {
    float *scores, *slopes, *delta, *dq;
    float *q, *dout, *out, *max, *sum;
  };

  /// The rows of one block of queries.
  struct Rows {
    const void *q, *dout, *out;
    const float *max, *sum;
  };

  Work getWork() const {
    Work work;
    work.scores = static_cast<float *>(getScratch(
        ScratchUse::Tile,
        (2 * scoreCount + rows * (3 + 2 * shape.dim + 2 * shape.valueDim)) *
            sizeof(float)));
    work.slopes = work.scores + scoreCount;
    work.delta = work.slopes + scoreCount;
    work.dq = work.delta + rows;
    work.q = work.dq + rows * shape.dim;
    work.dout = work.q + rows * shape.dim;
    work.out = work.dout + rows * shape.valueDim;
    work.max = work.out + rows * shape.valueDim;
    work.sum = work.max + rows;
    return work;
  }

  /// Returns the rows of a block and computes their delta in `work`. Rows that
  /// are not present would have p = exp(0 - 0) / 0, so they get a sum of 1, and
  /// then add p * 0 and 0 * q to gradients.
  Rows readRows(const KernelOperands &operands, const QueryRows &queries,
                const AttentionBlock &block, int64_t head,
                const Work &work) const {
    auto read = [&](size_t input, DType type, int64_t columns, float *memory) {
      return queries.read(operands.inputs[input], type, columns, block, head,
                          memory);
    };
    Rows result{read(0, shape.type, shape.dim, work.q),
                read(3, shape.type, shape.valueDim, work.dout),
                read(6, shape.type, shape.valueDim, work.out),
                static_cast<const float *>(read(4, DType::F32, 1, work.max)),
                static_cast<const float *>(read(5, DType::F32, 1, work.sum))};
    if (result.sum == work.sum)
      for (float &sum : llvm::MutableArrayRef(work.sum, block.queries))
        sum = sum == 0 ? 1 : sum;
    runRowProducts(shape.type, result.out, result.dout, work.delta,
                   block.queries, shape.valueDim);
    return result;
  }

  /// Returns the address of a row of an input or output with `columns` columns.
  const void *rowOf(const KernelOperands &operands, size_t input, int64_t row,
                    int64_t columns) const {
    return at(operands.getInput<void>(input), shape.type, row * columns);
  }

  /// Computes p and ds of a block of query head `head` in `work.scores` and
  /// `work.slopes`. `key` is the block's first key among all heads. With
  /// dropout, p becomes the factor that values were multiplied by.
  void computeBlock(const KernelOperands &operands, const QueryRows &queryRows,
                    const AttentionBlock &block, int64_t head,
                    const Rows &queries, int64_t key, const Work &work) const {
    scoreProducts.run(block, queries.q, rowOf(operands, 1, key, shape.dim),
                      work.scores);
    hideOtherDocuments(shape, operands.inputs, queryRows, block, head,
                       work.scores);
    slopeProducts.run(block, queries.dout,
                      rowOf(operands, 2, key, shape.valueDim), work.slopes);
    dropBlock(shape, operands.inputs, queryRows, block, head, DType::F32,
              work.slopes);
    runAttentionSoftmaxGrad(
        shape.type,
        blocks.getScores(block, work.scores,
                         getSlope(operands.inputs, shape, head)),
        work.slopes, queries.max, queries.sum, work.delta);
    dropBlock(shape, operands.inputs, queryRows, block, head, shape.type,
              work.scores);
  }

  /// Computes dk and dv of the key blocks [begin, end) of a key head and, if
  /// `withQueries` is true, dq of all query heads that share it. In that case
  /// all blocks must be swept.
  void sweepKeys(const KernelOperands &operands, const QueryRows &queries,
                 int64_t keyHead, int64_t begin, int64_t end,
                 bool withQueries) const {
    const int64_t firstKey = begin * AttentionBlocks::keysPerBlock;
    const int64_t keys =
        std::min(shape.keys, end * AttentionBlocks::keysPerBlock) - firstKey;
    const int64_t firstRow = keyHead * shape.keys + firstKey;
    void *dkOut = at(operands.outputs[1], shape.type, firstRow * shape.dim);
    void *dvOut =
        at(operands.outputs[2], shape.type, firstRow * shape.valueDim);
    const bool direct = shape.type == DType::F32;
    float *dk = static_cast<float *>(
        direct
            ? dkOut
            : getScratch(ScratchUse::Sums,
                         keys * (shape.dim + shape.valueDim) * sizeof(float)));
    float *dv = direct ? static_cast<float *>(dvOut) : dk + keys * shape.dim;
    std::fill(dk, dk + keys * shape.dim, 0.0f);
    std::fill(dv, dv + keys * shape.valueDim, 0.0f);
    for (int64_t i = 0; i < shape.getGroup(); ++i)
      sweepHead(operands, queries, keyHead * shape.getGroup() + i, keyHead,
                begin, end, dk, dv, withQueries);
    if (direct)
      return;
    runCastLoop(DType::F32, shape.type, dk, dkOut, keys * shape.dim);
    runCastLoop(DType::F32, shape.type, dv, dvOut, keys * shape.valueDim);
  }

  void sweepHead(const KernelOperands &operands, const QueryRows &queries,
                 int64_t head, int64_t keyHead, int64_t begin, int64_t end,
                 float *dk, float *dv, bool withQueries) const {
    Work work = getWork();
    for (int64_t i = 0; i < queries.getNumBlocks(); ++i) {
      const int64_t queryBlock = queries.getFirstBlock() + i;
      const AttentionBlock first = blocks.get(queryBlock, begin);
      if (first.keys == 0)
        continue;
      const Rows own = readRows(operands, queries, first, head, work);
      std::fill(work.dq, work.dq + rows * shape.dim, 0.0f);
      for (int64_t j = begin; j < end; ++j) {
        AttentionBlock block = blocks.get(queryBlock, j);
        if (block.keys == 0)
          break;
        const int64_t key = keyHead * shape.keys + block.firstKey;
        const int64_t offset = block.firstKey - first.firstKey;
        computeBlock(operands, queries, block, head, own, key, work);
        valueProducts.run(block, work.scores, own.dout,
                          dv + offset * shape.valueDim);
        keyProducts.run(block, work.slopes, own.q, dk + offset * shape.dim);
        if (withQueries)
          queryProducts.run(block, work.slopes,
                            rowOf(operands, 1, key, shape.dim), work.dq);
      }
      if (withQueries)
        storeQueries(operands, queries.getOwn(first, head), work);
    }
  }

  void sweepQueries(const KernelOperands &operands, const QueryRows &queries,
                    int64_t head, int64_t queryBlock) const {
    Work work = getWork();
    const AttentionBlock first = blocks.get(queryBlock, 0);
    const Rows own = readRows(operands, queries, first, head, work);
    std::fill(work.dq, work.dq + rows * shape.dim, 0.0f);
    for (int64_t j = 0; j < blocks.getNumKeyBlocks(); ++j) {
      AttentionBlock block = blocks.get(queryBlock, j);
      if (block.keys == 0)
        break;
      const int64_t key = head / shape.getGroup() * shape.keys + block.firstKey;
      computeBlock(operands, queries, block, head, own, key, work);
      queryProducts.run(block, work.slopes, rowOf(operands, 1, key, shape.dim),
                        work.dq);
    }
    storeQueries(operands, queries.getOwn(first, head), work);
  }

  void storeQueries(const KernelOperands &operands, const QueryRows::Own &own,
                    const Work &work) const {
    runCastLoop(DType::F32, shape.type, work.dq + own.inBlock * shape.dim,
                at(operands.outputs[0], shape.type, own.row * shape.dim),
                own.size * shape.dim);
  }

  AttentionShape shape;
  AttentionBlocks blocks;
  bool oneSweep;
  BlockProducts scoreProducts, slopeProducts, valueProducts, keyProducts,
      queryProducts;
};

} // namespace

KernelOrError makeFlashAttentionGrad(const KernelSpec &spec,
                                     SpecChecker &checker) {
  AttentionShape shape;
  if (readAttentionShape(spec, 7, checker, shape)) {
    TensorShape rows{DType::F32, {shape.batch, shape.heads, shape.partQueries}};
    TensorShape result{
        shape.type,
        {shape.batch, shape.heads, shape.partQueries, shape.valueDim}};
    checker.requireInput(3, result);
    checker.requireInput(4, rows);
    checker.requireInput(5, rows);
    checker.requireInput(6, result);
    for (size_t i = 0; i < 3; ++i)
      checker.requireOutput(i, spec.inputs[i]);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeOnBestUnit<FlashAttentionGradKernel>(spec, shape,
                                                  makePackedAttentionGrad);
}

} // namespace mf
