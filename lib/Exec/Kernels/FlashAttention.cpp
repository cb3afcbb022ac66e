//===- FlashAttention.cpp - Attention without the matrix of scores --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Dao et al., 2022: blocks of scores live in scratch memory only; an online
// softmax carries the maximum and the sum of each row from block to block.
//
//===----------------------------------------------------------------------===//

#include "AttentionShape.h"
#include "Factories.h"
#include "PackedAttention.h"
#include "Scratch.h"
#include <limits>

namespace mf {
namespace {

/// Returns the product result += probabilities v.
ProductSpec getResultProduct(const AttentionShape &shape,
                             const AttentionBlock &block) {
  const MatrixLayout probabilities = {
      AttentionBlocks::scoreStride * 4 / getBytes(shape.type), 1};
  const MatrixLayout v = {shape.valueDim, 1};
  return {block.queries,  shape.valueDim, block.keys, probabilities, v,
          shape.valueDim, shape.type,     DType::F32, true};
}

class FlashAttentionKernel : public Kernel {
public:
  explicit FlashAttentionKernel(const AttentionShape &shape)
      : shape(shape), blocks(shape) {}

  bool prepare() {
    return scoreProducts.prepare(shape, getScoreProduct) &&
           resultProducts.prepare(shape, getResultProduct);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const QueryRows rows(shape, operands.inputs, 3);
    const int64_t queryBlocks = rows.getNumBlocks();
    pool.parallelFor(
        shape.batch * shape.heads * queryBlocks, [&](int64_t tile) {
          // Later queries see more keys, so they come first.
          runBlock(operands, rows, tile / queryBlocks,
                   rows.getFirstBlock() + queryBlocks - 1 - tile % queryBlocks);
        });
  }

private:
  void runBlock(const KernelOperands &operands, const QueryRows &queryRows,
                int64_t head, int64_t queryBlock) const {
    const llvm::ArrayRef<void *> inputs = operands.inputs;
    const llvm::ArrayRef<void *> outputs = operands.outputs;
    constexpr int64_t rows = AttentionBlocks::queriesPerBlock;
    constexpr int64_t scoreCount = rows * AttentionBlocks::scoreStride;
    float *scores = static_cast<float *>(
        getScratch(ScratchUse::Tile,
                   (scoreCount + rows * (shape.valueDim + 2 + shape.dim)) *
                       sizeof(float)));
    float *result = scores + scoreCount;
    float *max = result + rows * shape.valueDim;
    float *sum = max + rows;
    std::fill(result, max, 0.0f);
    std::fill(max, sum, -std::numeric_limits<float>::infinity());
    std::fill(sum, sum + rows, 0.0f);

    const int64_t keyHead = head / shape.getGroup() * shape.keys;
    const float slope = getSlope(inputs, shape, head);
    const AttentionBlock first = blocks.get(queryBlock, 0);
    const void *q = queryRows.read(inputs[0], shape.type, shape.dim, first,
                                   head, sum + rows);
    for (int64_t j = 0; j < blocks.getNumKeyBlocks(); ++j) {
      AttentionBlock block = blocks.get(queryBlock, j);
      if (block.keys == 0)
        break;
      int64_t key = keyHead + block.firstKey;
      scoreProducts.run(block, q, at(inputs[1], shape.type, key * shape.dim),
                        scores);
      hideOtherDocuments(shape, inputs, queryRows, block, head, scores);
      runAttentionSoftmax(shape.type, blocks.getScores(block, scores, slope),
                          max, sum, result, shape.valueDim);
      dropBlock(shape, inputs, queryRows, block, head, shape.type, scores);
      resultProducts.run(block, scores,
                         at(inputs[2], shape.type, key * shape.valueDim),
                         result);
    }
    const auto [inBlock, row, size] = queryRows.getOwn(first, head);
    std::copy_n(max + inBlock, size, static_cast<float *>(outputs[0]) + row);
    std::copy_n(sum + inBlock, size, static_cast<float *>(outputs[1]) + row);
    runDivideRows(shape.type, result + inBlock * shape.valueDim, sum + inBlock,
                  at(outputs[2], shape.type, row * shape.valueDim), size,
                  shape.valueDim);
  }

  AttentionShape shape;
  AttentionBlocks blocks;
  BlockProducts scoreProducts, resultProducts;
};

} // namespace

KernelOrError makeFlashAttention(const KernelSpec &spec, SpecChecker &checker) {
  AttentionShape shape;
  if (readAttentionShape(spec, 3, checker, shape)) {
    TensorShape rows{DType::F32, {shape.batch, shape.heads, shape.partQueries}};
    checker.requireOutput(0, rows);
    checker.requireOutput(1, rows);
    checker.requireOutput(
        2, {shape.type,
            {shape.batch, shape.heads, shape.partQueries, shape.valueDim}});
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeOnBestUnit<FlashAttentionKernel>(spec, shape, makePackedAttention);
}

} // namespace mf
