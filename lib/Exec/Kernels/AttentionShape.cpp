//===- AttentionShape.cpp - The blocks of attention -----------------------===//

#include "AttentionShape.h"
#include "SpecChecker.h"
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
  ProductSpec spec;
  spec.m = block.queries;
  spec.n = block.keys;
  spec.k = shape.dim;
  spec.a = {shape.dim, 1};
  spec.b = {1, shape.dim};
  spec.cStride = AttentionBlocks::scoreStride;
  spec.operandType = shape.type;
  return spec;
}

bool readAttentionShape(const KernelSpec &spec, size_t inputs,
                        SpecChecker &checker, AttentionShape &shape) {
  if (!checker.requireTensors())
    return false;
  shape.isPart = llvm::StringRef(spec.name).starts_with("mfFlashAttentionPart");
  const size_t slopes = inputs + shape.isPart;
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
  if (spec.inputs.size() > slopes)
    checker.requireInput(slopes, {DType::F32, {shape.heads}});
  return !checker.hasFailed();
}

} // namespace mf
