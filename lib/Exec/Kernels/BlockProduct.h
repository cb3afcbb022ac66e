//===- BlockProduct.h - Products of packed blocks -------------*- C++ -*-===//
//
// c = a b or c += a b for blocks that lie in the caches, bf16 or f32, with f32
// sums. The operands are made of cells of 4 bytes: an f32, or a pair of bf16
// that follow each other along the dimension that is summed over.
//
//   a: rows of cells, `aStride` cells apart.
//   b: panels of 16 columns, one behind the other; a panel has 16 cells, one of
//      each column, for each cell of a row of a.
//
// Rows, columns and cells are multiples of 16; zeros fill what is missing. An
// element of c is summed in the order of the cells, whatever block it is
// computed in.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_KERNELS_BLOCKPRODUCT_H
#define MF_LIB_KERNELS_BLOCKPRODUCT_H

#include "mf/Support/DType.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace mf {

using Cell = uint32_t;

/// Rows of a tile of AMX and columns of a panel.
constexpr int64_t panelColumns = 16;
/// The bytes of one row of a tile of AMX, and of a vector.
constexpr int64_t lineCells = 16;

/// Elements in a cell of `type`, f32 or bf16.
inline int64_t getCellElements(DType type) {
  return type == DType::F32 ? 1 : 2;
}

/// `count` rounded up to a multiple of `multiple`.
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

/// The product of cells of `type`, f32 on any unit that is not None, or bf16 on
/// AMX in a MatrixUnitUse.
void runBlockProduct(DType type, const BlockProduct &product);

/// The parts of the above.
void runBlockProductOnVectors(const BlockProduct &product);
void runBlockProductOnTiles(const BlockProduct &product);

/// Products that are computed in the background of loops on vectors, which AMX
/// does not need: the loops call `step` between their own steps. Rows and
/// columns are multiples of 32. f32 is computed when it is added.
class ProductQueue {
public:
  explicit ProductQueue(DType cellType) : cellType(cellType) {}

  /// Adds a product behind the others, which may read what those write.
  void add(const BlockProduct &product);
  /// The number of steps left.
  int64_t getSteps() const { return steps; }
  /// Computes the next `count` steps, if there are as many.
  void step(int64_t count);

private:
  DType cellType;
  llvm::SmallVector<BlockProduct, 4> products;
  /// The next step's place in the first product.
  int64_t first = 0, row = 0, panel = 0, cell = 0;
  int64_t steps = 0;
};

} // namespace mf

#endif // MF_LIB_KERNELS_BLOCKPRODUCT_H
