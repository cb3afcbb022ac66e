//===- AttentionShape.cpp - Attention cut into blocks ---------------------===//

#include "AttentionShape.h"
#include "SpecChecker.h"

namespace mf {

void AttentionBlocks::forEachSize(
    llvm::function_ref<void(const AttentionBlock &)> action) const {
  for (int64_t i = 0; i < getNumQueryBlocks(); ++i)
    for (int64_t j = 0; j < getNumKeyBlocks(); ++j) {
      AttentionBlock block = get(i, j);
      if (block.keys == 0)
        break;
      action(block);
      // Where a part of the queries begins is not known yet.
      if (shape.isPart && shape.causal)
        for (block.keys = keyStep; block.keys < keyTiles[j].size;
             block.keys += keyStep)
          action(block);
    }
}

bool BlockProducts::prepare(const AttentionShape &shape, MakeSpec makeSpec) {
  bool exist = true;
  AttentionBlocks(shape).forEachSize([&](const AttentionBlock &block) {
    std::shared_ptr<const Product> &product =
        products[{block.queries, block.keys}];
    if (!product && exist)
      product = getProduct(makeSpec(shape, block));
    exist &= product != nullptr;
  });
  return exist;
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
  shape.queries = q.dims[2];
  shape.keys = k.dims[2];
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
                      shape.keys >= shape.queries,
                  "causal attention of " + llvm::Twine(shape.queries) +
                      " queries needs at least as many keys, but got " +
                      llvm::Twine(shape.keys));
  shape.firstQuery = shape.keys - shape.queries;
  if (shape.isPart)
    checker.requireInput(inputs, {DType::I32, {1}});
  if (spec.inputs.size() > slopes)
    checker.requireInput(slopes, {DType::F32, {shape.heads}});
  return !checker.hasFailed();
}

} // namespace mf
