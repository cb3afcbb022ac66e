//===- AttentionShape.cpp - The blocks of attention -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AttentionShape.h"
#include "DropMask.h"
#include "ElementwiseLoops.h"
#include "SpecChecker.h"
#include <cmath>
#include <cstring>

namespace mf {

QueryRows::QueryRows(const AttentionShape &shape, llvm::ArrayRef<void *> inputs,
                     size_t index)
    : first(0), count(shape.partQueries) {
  if (shape.isPart)
    first = std::clamp<int64_t>(*static_cast<const int32_t *>(inputs[index]), 0,
                                shape.queries - count);
}

const void *QueryRows::read(const void *tensor, DType type, int64_t columns,
                            const AttentionBlock &block, int64_t head,
                            void *memory) const {
  const Own own = getOwn(block, head);
  const void *rows = at(tensor, type, own.row * columns);
  if (own.size == block.queries)
    return rows;
  const int64_t rowBytes = columns * getBytes(type);
  std::memset(memory, 0, block.queries * rowBytes);
  std::memcpy(at(memory, type, own.inBlock * columns), rows,
              own.size * rowBytes);
  return memory;
}

bool BlockProducts::prepare(const AttentionShape &shape, MakeSpec makeSpec) {
  AttentionBlocks blocks(shape);
  for (int64_t i = 0; i < blocks.getNumQueryBlocks(); ++i)
    for (int64_t j = 0; j < blocks.getNumKeyBlocks(); ++j) {
      AttentionBlock block = blocks.get(i, j);
      if (block.keys == 0)
        break;
      std::shared_ptr<const Product> &product =
          products[{block.queries, block.keys}];
      if (product)
        continue;
      product = getProduct(makeSpec(shape, block));
      if (!product)
        return false;
    }
  return true;
}

ProductSpec getScoreProduct(const AttentionShape &shape,
                            const AttentionBlock &block) {
  const MatrixLayout q = {shape.dim, 1}, keys = {1, shape.dim};
  return {block.queries, block.keys,
          shape.dim,     q,
          keys,          AttentionBlocks::scoreStride,
          shape.type};
}

/// Checks the optional inputs from input `first` on.
static void readLastInputs(const KernelSpec &spec, size_t first,
                           SpecChecker &checker, AttentionShape &shape) {
  shape.optional = findAttentionInputs(spec, first);
  if (shape.optional.slopes)
    checker.requireInput(*shape.optional.slopes, {DType::F32, {shape.heads}});
  if (shape.optional.dropMask) {
    checker.requireInput(
        *shape.optional.dropMask,
        {DType::I1, {shape.batch, shape.heads, shape.partQueries, shape.keys}});
    shape.keptFactor = getKeptFactor(readDropRate(checker));
  }
  if (shape.optional.starts) {
    checker.requireInput(*shape.optional.starts,
                         {DType::I32, {shape.batch, shape.partQueries}});
    checker.require(shape.scale != 0,
                    "scale is 0, but scores of other documents are hidden as "
                    "multiples of it");
  }
  checker.require(shape.optional.end >= spec.inputs.size(),
                  "got input " + llvm::Twine(shape.optional.end) +
                      ", expected slopes, a mask of dropout and starts of "
                      "documents, in this order and each once at most");
}

void hideOtherDocuments(const AttentionShape &shape,
                        llvm::ArrayRef<void *> inputs, const QueryRows &rows,
                        const AttentionBlock &block, int64_t head,
                        float *scores) {
  if (!shape.optional.starts)
    return;
  // A power of two, whose product with the scale is exact. If a row sees no key
  // of a block, its scores become exp(0), which the first key that it does see
  // multiplies by 0 without overflow.
  const float hidden = std::copysign(0x1p100F, -shape.scale);
  const auto *starts =
      static_cast<const int32_t *>(inputs[*shape.optional.starts]);
  const QueryRows::Own own = rows.getOwn(block, head);
  // All heads of a sample have the same starts.
  const int64_t first =
      own.row - head * rows.count + head / shape.heads * rows.count;
  for (int64_t row = 0; row < own.size; ++row) {
    const int64_t count = std::clamp<int64_t>(
        starts[first + row] - block.firstKey, 0, block.keys);
    float *line = scores + (own.inBlock + row) * AttentionBlocks::scoreStride;
    std::fill_n(line, count, hidden);
  }
}

void dropBlock(const AttentionShape &shape, llvm::ArrayRef<void *> inputs,
               const QueryRows &rows, const AttentionBlock &block, int64_t head,
               DType type, void *scores) {
  if (!shape.optional.dropMask)
    return;
  const auto *mask =
      static_cast<const uint8_t *>(inputs[*shape.optional.dropMask]);
  const QueryRows::Own own = rows.getOwn(block, head);
  const int64_t stride = static_cast<int64_t>(AttentionBlocks::scoreStride *
                                              sizeof(float) / getBytes(type));
  for (int64_t row = 0; row < own.size; ++row) {
    void *line = at(scores, type, (own.inBlock + row) * stride);
    float values[AttentionBlocks::keysPerBlock];
    runCastLoop(type, DType::F32, line, values, block.keys);
    applyDropMask(mask, (own.row + row) * shape.keys + block.firstKey,
                  shape.keptFactor, values, block.keys);
    runCastLoop(DType::F32, type, values, line, block.keys);
  }
}

bool readAttentionShape(const KernelSpec &spec, size_t inputs,
                        SpecChecker &checker, AttentionShape &shape) {
  shape.isPart = checker.hasInput("firstQuery");
  const TensorShape &q = spec.inputs[0], &k = spec.inputs[1],
                    &v = spec.inputs[2];
  checker.requireFloatInput(0);
  checker.requireInputType(1, q.type);
  checker.requireInputType(2, q.type);
  for (const TensorShape *input : {&q, &k, &v})
    checker.require(input->dims.size() == 4,
                    "got " + toString(*input) +
                        ", expected batch x heads x sequence x dim");
  if (checker.hasFailed())
    return false;
  shape.type = q.type;
  shape.batch = q.dims[0];
  shape.heads = q.dims[1];
  shape.keyHeads = k.dims[1];
  shape.partQueries = q.dims[2];
  shape.keys = k.dims[2];
  shape.queries = shape.isPart ? shape.keys : shape.partQueries;
  shape.dim = q.dims[3];
  shape.valueDim = v.dims[3];
  shape.scale = static_cast<float>(checker.getDouble("scale"));
  shape.causal = checker.getBool("causal", true);
  checker.requireInput(
      1, {q.type, {shape.batch, shape.keyHeads, shape.keys, shape.dim}});
  checker.requireInput(
      2, {q.type, {shape.batch, shape.keyHeads, shape.keys, shape.valueDim}});
  checker.require(shape.heads % shape.keyHeads == 0,
                  llvm::Twine(shape.heads) + " query heads cannot share " +
                      llvm::Twine(shape.keyHeads) + " key heads evenly");
  checker.require((!shape.causal && !shape.isPart) ||
                      shape.keys >= shape.partQueries,
                  llvm::Twine(shape.causal ? "causal " : "") + "attention of " +
                      llvm::Twine(shape.partQueries) +
                      " queries needs at least as many keys, but got " +
                      llvm::Twine(shape.keys));
  if (shape.isPart)
    checker.requireInput(inputs, {DType::I32, {1}});
  readLastInputs(spec, inputs + shape.isPart, checker, shape);
  return !checker.hasFailed();
}

} // namespace mf
