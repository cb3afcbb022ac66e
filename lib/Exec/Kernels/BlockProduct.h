//===- BlockProduct.h - Products of packed blocks -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// c = a b or c += a b for blocks in the caches, bf16 or f32, with f32 sums. The
// operands consist of cells of 4 bytes: an f32, or a pair of bf16 that are
// adjacent along the summed dimension.
//
// a has rows of cells at distance `aStride` cells. b has consecutive panels of
// 16 columns; for each cell of a row of a, a panel has 16 cells, one of each
// column.
//
// Rows, columns and cells are multiples of 16; missing ones are zeros. An
// element of c is summed in the order of the cells, in whichever block it is
// computed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_BLOCKPRODUCT_H
#define MF_LIB_EXEC_KERNELS_BLOCKPRODUCT_H

#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mf {

using Cell = uint32_t;

/// Rows of a tile of AMX and columns of a panel.
constexpr int64_t panelColumns = 16;
/// The bytes of one row of a tile of AMX, and of a vector.
constexpr int64_t lineCells = 16;

/// Returns the number of elements in a cell of `type`, f32 or bf16.
inline int64_t getCellElements(DType type) {
  return type == DType::F32 ? 1 : 2;
}

/// Returns `count` rounded up to a multiple of `multiple`.
constexpr int64_t roundUpTo(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

struct BlockProduct {
  const Cell *a;
  int64_t aStride;
  const Cell *b;
  /// Cells from a panel to the next.
  int64_t bStride;
  float *c;
  int64_t cStride;
  int64_t rows, columns, cells;
  bool accumulate;
};

/// Computes the product of cells of `type`: f32 on any unit other than None, or
/// bf16 on AMX within a MatrixUnitUse.
void runBlockProduct(DType type, const BlockProduct &product);

/// The implementations of runBlockProduct.
void runBlockProductOnVectors(const BlockProduct &product);
void runBlockProductOnTiles(const BlockProduct &product);

/// Products that are computed in the background of loops on vectors, which AMX
/// does not need: the loops call `run` between vectors. Rows and columns are
/// multiples of 32. f32 is computed when it is added.
class ProductQueue {
public:
  explicit ProductQueue(DType cellType) : cellType(cellType) {}

  /// Appends a product. It may read the results of earlier ones.
  void add(const BlockProduct &product);
  /// Returns the number of lines of cells that are left.
  int64_t getLines() const { return lines; }
  /// Multiplies the next `count` lines, as far as there are any.
  void run(int64_t count);

private:
  DType cellType;
  llvm::SmallVector<BlockProduct, 4> products;
  /// The next line's place in the first product.
  int64_t first = 0, row = 0, panel = 0, cell = 0;
  int64_t lines = 0;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_BLOCKPRODUCT_H
