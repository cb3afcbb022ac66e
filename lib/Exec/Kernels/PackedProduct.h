//===- PackedProduct.h - bf16 products of packed panels -------*- C++ -*-===//
//
// oneDNN 2.6 multiplies bf16 matrices on AMX at a fifth of the tiles' peak
// where an operand is transposed or deeper than a cache: it packs for each
// call, and walks the whole depth at once. Here panels of both operands that
// the caches hold are packed in turn (Goto and van de Geijn, 2008: "Anatomy of
// high-performance matrix multiplication").
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_PACKEDPRODUCT_H
#define MF_LIB_KERNELS_PACKEDPRODUCT_H

#include "OneDnn.h"

namespace mf {

/// The product of bf16 matrices in f32 or bf16, or null if the operands are of
/// another type or this process may not use AMX: on what other units there are
/// oneDNN is as fast. An element of the result is the same chain of sums along
/// the depth wherever it lies in the matrix, so its bits depend on its row of
/// a, its column of b, and the depth alone.
std::shared_ptr<const Product> getPackedProduct(const ProductSpec &spec);

} // namespace mf

#endif // MF_LIB_KERNELS_PACKEDPRODUCT_H
