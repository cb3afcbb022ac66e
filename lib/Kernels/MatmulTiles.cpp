//===- MatmulTiles.cpp - The fixed grid of a matrix product ---------------===//

#include "MatmulTiles.h"
#include "OneDnn.h"
#include "Tiles.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace mf {

namespace {

/// Below this, handing a tile to another thread costs more than it saves.
constexpr int64_t fewestMultiplications = int64_t{1} << 21;

/// Enough tiles for the threads of one stream to share evenly.
constexpr int64_t wantedTiles = 4;

/// The size that cuts `total` into the same number of pieces as `size` does,
/// but evenly, in multiples of a vector register block.
int64_t balance(int64_t total, int64_t size) {
  int64_t pieces = llvm::divideCeil(total, size);
  return std::min<int64_t>(total,
                           llvm::alignTo(llvm::divideCeil(total, pieces), 32));
}

} // namespace

MatmulTiles chooseMatmulTiles(int64_t batch, int64_t m, int64_t n, int64_t k,
                              bool direct) {
  int64_t work = std::max<int64_t>(1, m * n * k);
  if (direct && work <= fewestMultiplications)
    return {m, n, std::min(batch, fewestMultiplications / work)};

  // A whole row of c at a time packs b once for many rows; a very long k or n
  // would push what is packed out of the second-level cache.
  int64_t columns = k > 8192 ? 256 : n <= 2048 ? n : 512;
  int64_t rows = 512;
  if (!direct)
    rows = columns = convertedTile;
  columns = std::min(n, balance(n, columns));
  int64_t across = batch * llvm::divideCeil(n, columns);
  while (rows > 64 && across * llvm::divideCeil(m, rows) < wantedTiles)
    rows /= 2;
  return {balance(m, rows), columns, 1};
}

} // namespace mf
