//===- MatmulTiles.cpp - The fixed grid of a matrix product ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MatrixProduct.h"
#include "Tiles.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace mf {

namespace {

/// Below this, handing a tile to another thread costs more than it saves.
constexpr int64_t fewestMultiplications = int64_t{1} << 21;

/// Enough tiles for the threads of one stream to share evenly. With more tiles,
/// the same operands would be packed more often.
constexpr int64_t wantedTiles = 4;

/// Rows of a tile: within these, more are better.
constexpr int64_t fewestRows = 64, mostRows = 512;

/// Returns the size of one of `pieces` equal pieces of `total`, in multiples of
/// a block of vector registers.
int64_t cut(int64_t total, int64_t pieces) {
  return std::min<int64_t>(total, static_cast<int64_t>(llvm::alignTo(
                                      llvm::divideCeil(total, pieces), 32)));
}

} // namespace

MatmulTiles chooseMatmulTiles(int64_t batch, int64_t m, int64_t n, int64_t k,
                              bool direct) {
  int64_t work = std::max<int64_t>(1, m * n * k);
  if (direct && work <= fewestMultiplications)
    return {m, n, std::min(batch, fewestMultiplications / work)};

  // A whole row of c at a time packs b once for many rows. A very long k or n
  // would evict the packed panels from the second-level cache.
  int64_t columns = k > 8192 ? 384 : n <= 2048 ? n : 512;
  int64_t rows = mostRows;
  if (!direct)
    rows = columns = convertedTile;
  columns = cut(n, static_cast<int64_t>(llvm::divideCeil(n, columns)));
  const int64_t across =
      batch * static_cast<int64_t>(llvm::divideCeil(n, columns));
  const int64_t down = std::max<int64_t>(
      static_cast<int64_t>(llvm::divideCeil(m, rows)),
      std::min<int64_t>(
          static_cast<int64_t>(llvm::divideCeil(m, fewestRows)),
          static_cast<int64_t>(llvm::divideCeil(wantedTiles, across))));
  return {cut(m, down), columns, 1};
}

} // namespace mf
