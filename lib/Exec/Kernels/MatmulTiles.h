//===- MatmulTiles.h - The fixed grid of a matrix product -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_MATMULTILES_H
#define MF_LIB_EXEC_KERNELS_MATMULTILES_H

#include "mf/Support/DType.h"
#include <cstdint>

namespace mf {

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

#endif // MF_LIB_EXEC_KERNELS_MATMULTILES_H
