//===- PackedProduct.h - bf16 products of packed panels -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// oneDNN 2.6 multiplies bf16 matrices on AMX at a fifth of the tiles' peak if
// an operand is transposed or deeper than a cache, because it packs for each
// call and processes the whole depth at once. Here panels of both operands that
// fit the caches are packed in turn (Goto and van de Geijn, 2008: "Anatomy of
// high-performance matrix multiplication").
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_PACKEDPRODUCT_H
#define MF_LIB_EXEC_KERNELS_PACKEDPRODUCT_H

#include "OneDnn.h"

namespace mf {

/// Returns the product of bf16 matrices in f32 or bf16, or null if the operands
/// have another type or this process may not use AMX. On other units oneDNN is
/// as fast. An element of the result is the same chain of sums along the depth
/// wherever it is in the matrix, so its bits depend only on its row of a, its
/// column of b, and the depth.
std::shared_ptr<const Product> getPackedProduct(const ProductSpec &spec);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_PACKEDPRODUCT_H
