//===- MatrixProduct.h - Single-threaded matrix products -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A product is called on one thread at a time for one tile of a result; the
// parallelism is ours. oneDNN accumulates in f32 in an order that depends only
// on the shape and strides of the product.
//
// oneDNN 2.6 multiplies bf16 matrices on AMX at a fifth of the tiles' peak if
// an operand is transposed or deeper than a cache, because it packs for each
// call and processes the whole depth at once. PackedProduct.cpp packs panels of
// both operands that fit the caches in turn (Goto and van de Geijn, 2008:
// "Anatomy of high-performance matrix multiplication").
//
// A program links OneDnnProduct.cpp or, if it is linked statically,
// NoOneDnn.cpp, because Debian has oneDNN as a shared library only.
// VectorProduct.cpp then multiplies.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_MATRIXPRODUCT_H
#define MF_LIB_EXEC_KERNELS_MATRIXPRODUCT_H

#include "mf/Support/DType.h"
#include <cstdint>
#include <memory>

namespace mf {

/// A strided matrix in memory: element (i, j) at i * rowStride + j *
/// columnStride. One of the strides is 1.
struct MatrixLayout {
  int64_t rowStride = 0, columnStride = 0;
};

/// c[m,n] = a[m,k] b[k,n], or c += a b.
struct ProductSpec {
  int64_t m = 0, n = 0, k = 0;
  MatrixLayout a, b;
  /// Elements from a row of c to the next.
  int64_t cStride = 0;
  DType operandType = DType::F32;
  DType resultType = DType::F32;
  bool accumulate = false;
};

/// A product prepared for one shape. Several threads may call `run`
/// concurrently.
class Product {
public:
  virtual ~Product();
  virtual void run(const void *a, const void *b, void *c) const = 0;
};

/// Returns the product, which is shared by all users of the same specification,
/// or null if oneDNN does not support these types on this processor or is not
/// linked, as on processors other than x86-64.
std::shared_ptr<const Product> getOneDnnProduct(const ProductSpec &spec);

/// Returns the product by our own loops on vectors, or null if the types are
/// not f32. Each element is one chain of fused multiply-adds along the depth,
/// so its bits depend only on its row of a and its column of b, not on the
/// processor.
std::shared_ptr<const Product> getVectorProduct(const ProductSpec &spec);

/// Returns the product by oneDNN or, without it, of f32 by our vector loops;
/// null if neither supports these types.
std::shared_ptr<const Product> getDirectProduct(const ProductSpec &spec);

/// Returns the product of bf16 matrices in f32 or bf16, or null if the operands
/// have another type or this process may not use AMX. On other units oneDNN is
/// as fast. An element of the result is the same chain of sums along the depth
/// wherever it is in the matrix, so its bits depend only on its row of a, its
/// column of b, and the depth.
std::shared_ptr<const Product> getPackedProduct(const ProductSpec &spec);

/// Returns the product for any floating-point types: with packed panels for
/// bf16 on AMX (getPackedProduct), directly if the types are supported, and
/// otherwise in f32 with converted blocks. `accumulate` requires an f32 result.
/// Returns null only if there is no f32 product.
std::shared_ptr<const Product> getProduct(const ProductSpec &spec);

/// The bounds on m and n of a tile that `getProduct` computes by conversion.
constexpr int64_t convertedTile = 256;

/// How the result of a (batched) matrix product is cut into tiles. It depends
/// only on the product, never on the number of threads, because oneDNN's order
/// of accumulation depends on the shape of a tile.
struct MatmulTiles {
  int64_t rows, columns;
  /// Products of a batch that one tile computes, if they are whole tiles.
  int64_t batches;
};

/// `direct` is true if oneDNN multiplies this type directly. Otherwise tiles
/// are bounded by `convertedTile`.
MatmulTiles chooseMatmulTiles(int64_t batch, int64_t m, int64_t n, int64_t k,
                              bool direct);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_MATRIXPRODUCT_H
