//===- Matmul.cpp - Matrix products ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "Factories.h"
#include "MatrixProduct.h"
#include "Tiles.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace mf {
namespace {

/// A batch of products of dense matrices.
struct ProductShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  DType operandType = DType::F32, resultType = DType::F32;
};

class MatmulKernel : public Kernel {
public:
  static KernelOrError make(const KernelSpec &spec, const ProductShape &shape);

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const auto *a = operands.getInput<char>(0);
    const auto *b = operands.getInput<char>(1);
    auto *c = operands.getOutput<char>(0);
    const auto groups =
        static_cast<int64_t>(llvm::divideCeil(shape.batch, grid.batches));
    // Tiles that share columns of b are neighbours, so that threads find them
    // in the shared cache.
    pool.parallelFor(
        groups * columnTiles.count * rowTiles.count, [&](int64_t tile) {
          int64_t row = tile % rowTiles.count;
          int64_t column = tile / rowTiles.count;
          int64_t group = column / columnTiles.count;
          column %= columnTiles.count;
          int64_t end = std::min(shape.batch, (group + 1) * grid.batches);
          for (int64_t i = group * grid.batches; i < end; ++i)
            runTile(a, b, c, i, row, column);
        });
  }

private:
  MatmulKernel(const ProductShape &shape, const MatmulTiles &grid)
      : shape(shape), grid(grid), rowTiles(shape.m, grid.rows),
        columnTiles(shape.n, grid.columns) {
    a = shape.transposeA ? MatrixLayout{1, shape.m} : MatrixLayout{shape.k, 1};
    b = shape.transposeB ? MatrixLayout{1, shape.k} : MatrixLayout{shape.n, 1};
  }

  bool prepare() {
    for (int lastRow = 0; lastRow < 2; ++lastRow)
      for (int lastColumn = 0; lastColumn < 2; ++lastColumn) {
        products[lastRow][lastColumn] = getProduct(
            {rowTiles[lastRow ? rowTiles.count - 1 : 0].size,
             columnTiles[lastColumn ? columnTiles.count - 1 : 0].size, shape.k,
             a, b, shape.n, shape.operandType, shape.resultType});
        if (!products[lastRow][lastColumn])
          return false;
      }
    return true;
  }

  void runTile(const char *aBase, const char *bBase, char *cBase, int64_t batch,
               int64_t rowTile, int64_t columnTile) const {
    int64_t row = rowTiles[rowTile].begin;
    int64_t column = columnTiles[columnTile].begin;
    int64_t aIndex = batch * shape.m * shape.k + row * a.rowStride;
    int64_t bIndex = batch * shape.k * shape.n + column * b.columnStride;
    int64_t cIndex = (batch * shape.m + row) * shape.n + column;
    products[rowTile == rowTiles.count - 1][columnTile == columnTiles.count - 1]
        ->run(at(aBase, shape.operandType, aIndex),
              at(bBase, shape.operandType, bIndex),
              at(static_cast<void *>(cBase), shape.resultType, cIndex));
  }

  ProductShape shape;
  MatmulTiles grid;
  Tiles rowTiles, columnTiles;
  MatrixLayout a, b;
  /// Indexed by whether the tile is in the last row, and in the last column, of
  /// tiles.
  std::shared_ptr<const Product> products[2][2];
};

bool isDirect(const ProductShape &shape) {
  ProductSpec probe;
  probe.m = probe.n = probe.k = 64;
  probe.a = probe.b = {64, 1};
  probe.cStride = 64;
  probe.operandType = shape.operandType;
  probe.resultType = shape.resultType;
  return getDirectProduct(probe) != nullptr;
}

KernelOrError MatmulKernel::make(const KernelSpec &spec,
                                 const ProductShape &shape) {
  MatmulTiles grid = chooseMatmulTiles(shape.batch, shape.m, shape.n, shape.k,
                                       isDirect(shape));
  std::unique_ptr<MatmulKernel> kernel(new MatmulKernel(shape, grid));
  if (!kernel->prepare())
    return llvm::createStringError(
        spec.name + ": cannot multiply " + toString(spec.inputs[0]) + " by " +
        toString(spec.inputs[1]) + " on this processor");
  return kernel;
}

int64_t productOf(llvm::ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

/// Reads the shape of c[k_a, n] = sum over the leading dimensions and m of
/// a[..., m, k_a]^T b[..., m, n]. The leading dimensions extend the contracted
/// one.
void readContractedBatch(const KernelSpec &spec, SpecChecker &checker,
                         ProductShape &shape) {
  llvm::ArrayRef<int64_t> a = spec.inputs[0].dims, b = spec.inputs[1].dims;
  checker.require(shape.transposeA && !shape.transposeB,
                  "contract_batch needs transpose_a and no transpose_b");
  checker.require(a.drop_back() == b.drop_back(),
                  "inputs " + toString(spec.inputs[0]) + " and " +
                      toString(spec.inputs[1]) +
                      " differ before their last dimension, which "
                      "contract_batch contracts");
  shape.m = a.back();
  shape.n = b.back();
  shape.k = productOf(a.drop_back());
  checker.requireOutput(0, {spec.outputs[0].type, {shape.m, shape.n}});
}

void readMatrices(const KernelSpec &spec, SpecChecker &checker,
                  ProductShape &shape) {
  llvm::ArrayRef<int64_t> a = spec.inputs[0].dims, b = spec.inputs[1].dims;
  llvm::ArrayRef<int64_t> aBatch = a.drop_back(2), bBatch = b.drop_back(2);
  shape.m = a[a.size() - (shape.transposeA ? 1 : 2)];
  shape.k = a[a.size() - (shape.transposeA ? 2 : 1)];
  shape.n = b[b.size() - (shape.transposeB ? 2 : 1)];
  int64_t bDepth = b[b.size() - (shape.transposeB ? 1 : 2)];
  checker.require(shape.k == bDepth, "inputs " + toString(spec.inputs[0]) +
                                         " and " + toString(spec.inputs[1]) +
                                         " contract " + llvm::Twine(shape.k) +
                                         " with " + llvm::Twine(bDepth) +
                                         " elements");
  TensorShape result{spec.outputs[0].type, {}};
  result.dims.assign(aBatch.begin(), aBatch.end());
  result.dims.append({shape.m, shape.n});
  checker.requireOutput(0, result);
  if (bBatch.empty() && !aBatch.empty()) {
    checker.require(!shape.transposeA,
                    "transpose_a with leading dimensions needs them in input 1 "
                    "as well, or contract_batch");
    shape.m *= productOf(aBatch);
    return;
  }
  checker.require(aBatch == bBatch, "inputs " + toString(spec.inputs[0]) +
                                        " and " + toString(spec.inputs[1]) +
                                        " differ in their leading dimensions");
  shape.batch = productOf(aBatch);
}

} // namespace

KernelOrError makeMatmul(const KernelSpec &spec, SpecChecker &checker) {
  ProductShape shape;
  shape.operandType = spec.inputs[0].type;
  shape.resultType = spec.outputs[0].type;
  checker.requireFloatInput(0);
  checker.requireInputType(1, shape.operandType);
  if (shape.resultType != DType::F32)
    checker.requireOutputType(0, shape.operandType);
  checker.requireInputRank(0, 2);
  checker.requireInputRank(1, 2);
  shape.transposeA = checker.getBool("transpose_a", false);
  shape.transposeB = checker.getBool("transpose_b", false);
  bool contractBatch = checker.getBool("contract_batch", false);
  if (!checker.hasFailed())
    contractBatch ? readContractedBatch(spec, checker, shape)
                  : readMatrices(spec, checker, shape);
  if (llvm::Error error = checker.takeError())
    return error;
  return MatmulKernel::make(spec, shape);
}

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
