//===- ConvertedProduct.cpp - Matrix products by conversion to f32 --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Used for f16, and for bf16 on processors without AVX-512, where oneDNN has no
// product, and for both without oneDNN. Blocks of the operands are converted to
// f32 and then multiplied.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "MatrixProduct.h"
#include "Scratch.h"
#include "Tiles.h"
#include <cstring>

namespace mf {
namespace {

constexpr int64_t blockDepth = 256;

/// Converts `rows` rows of `columns` contiguous elements to a dense f32 block.
void convertBlock(DType type, const void *from, int64_t stride, int64_t rows,
                  int64_t columns, float *to) {
  for (int64_t row = 0; row < rows; ++row)
    runCastLoop(type, DType::F32, at(from, type, row * stride),
                to + row * columns, columns);
}

class ConvertedProduct : public Product {
public:
  static std::shared_ptr<const Product> make(const ProductSpec &spec) {
    auto product = std::make_shared<ConvertedProduct>();
    product->spec = spec;
    int64_t depth = std::min(spec.k, blockDepth);
    product->whole = product->makeBlock(depth);
    if (spec.k % depth != 0)
      product->rest = product->makeBlock(spec.k % depth);
    if (!product->whole || (spec.k % depth != 0 && !product->rest))
      return nullptr;
    return product;
  }

  void run(const void *a, const void *b, void *c) const override {
    const int64_t depth = std::min(spec.k, blockDepth);
    const int64_t sizes[] = {spec.m * depth, depth * spec.n, spec.m * spec.n};
    float *aBlock = static_cast<float *>(
        getScratch(ScratchUse::Conversion,
                   (sizes[0] + sizes[1] + sizes[2]) * sizeof(float)));
    float *bBlock = aBlock + sizes[0];
    float *sums = bBlock + sizes[1];
    if (spec.accumulate)
      convertBlock(DType::F32, c, spec.cStride, spec.m, spec.n, sums);
    else
      std::memset(sums, 0, sizes[2] * sizeof(float));
    for (int64_t k = 0; k < spec.k; k += depth) {
      int64_t block = std::min(depth, spec.k - k);
      const void *aPart = at(a, spec.operandType, k * spec.a.columnStride);
      const void *bPart = at(b, spec.operandType, k * spec.b.rowStride);
      if (isTransposed(spec.a))
        convertBlock(spec.operandType, aPart, spec.a.columnStride, block,
                     spec.m, aBlock);
      else
        convertBlock(spec.operandType, aPart, spec.a.rowStride, spec.m, block,
                     aBlock);
      if (isTransposed(spec.b))
        convertBlock(spec.operandType, bPart, spec.b.columnStride, spec.n,
                     block, bBlock);
      else
        convertBlock(spec.operandType, bPart, spec.b.rowStride, block, spec.n,
                     bBlock);
      (block == depth ? whole : rest)->run(aBlock, bBlock, sums);
    }
    for (int64_t row = 0; row < spec.m; ++row)
      runCastLoop(DType::F32, spec.resultType, sums + row * spec.n,
                  at(c, spec.resultType, row * spec.cStride), spec.n);
  }

private:
  static bool isTransposed(const MatrixLayout &layout) {
    return layout.columnStride != 1;
  }

  std::shared_ptr<const Product> makeBlock(int64_t depth) const {
    ProductSpec block;
    block.m = spec.m;
    block.n = spec.n;
    block.k = depth;
    block.a =
        isTransposed(spec.a) ? MatrixLayout{1, spec.m} : MatrixLayout{depth, 1};
    block.b =
        isTransposed(spec.b) ? MatrixLayout{1, depth} : MatrixLayout{spec.n, 1};
    block.cStride = spec.n;
    block.accumulate = true;
    return getDirectProduct(block);
  }

  ProductSpec spec;
  std::shared_ptr<const Product> whole, rest;
};

} // namespace

std::shared_ptr<const Product> getDirectProduct(const ProductSpec &spec) {
  if (std::shared_ptr<const Product> product = getOneDnnProduct(spec))
    return product;
  return getVectorProduct(spec);
}

std::shared_ptr<const Product> getProduct(const ProductSpec &spec) {
  if (std::shared_ptr<const Product> product = getPackedProduct(spec))
    return product;
  if (std::shared_ptr<const Product> product = getDirectProduct(spec))
    return product;
  if (spec.operandType == DType::F32)
    return nullptr;
  return ConvertedProduct::make(spec);
}

} // namespace mf
