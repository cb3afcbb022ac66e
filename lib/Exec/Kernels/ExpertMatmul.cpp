//===- ExpertMatmul.cpp - Rows of experts times their weights -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The number of rows of an expert is known only when the kernel runs. Both
// forms compute the same tiles, which are those into which aclnnMatmul would
// cut each expert's product, and hence the same bits. One form runs expert
// after expert, the other all at once, so that experts with few rows, whose
// products are a single tile, run concurrently.
//
//===----------------------------------------------------------------------===//

#include "ExpertRows.h"
#include "Factories.h"
#include "FewRows.h"
#include "MatrixProduct.h"
#include "Scratch.h"
#include "Tiles.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

namespace mf {
namespace {

/// The rows of an expert in one group, or rows of no expert.
struct Rows {
  static constexpr int64_t none = -1;

  /// Its number over all ranks.
  int64_t expert;
  ExpertRows place;
  MatmulTiles grid;
  bool isFew = false;
};

class ExpertMatmulKernel : public Kernel {
public:
  ExpertMatmulKernel(const ExpertShape &shape, bool transposed,
                     ExpertOrder order)
      : shape(shape), transposed(transposed), order(order),
        direct(multipliesDirectly(shape.operandType, shape.resultType)),
        takesFewRows(order == ExpertOrder::AllAtOnce && !transposed &&
                     shape.operandType == DType::F32 && multipliesFewRows()) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    std::vector<Rows> list = getRows({shape, operands.getInput<float>(2)});
    std::vector<int64_t> tileCounts;
    for (const Rows &rows : list)
      tileCounts.push_back(getRowTiles(rows).count *
                           getColumnTiles(rows).count);
    runExpertTiles(order, tileCounts, pool, [&](size_t product, int64_t tile) {
      const Rows &rows = list[product];
      if (rows.expert == Rows::none)
        writeZeros(operands, rows, tile);
      else
        multiplyTile(operands, rows,
                     getLater(list, product + pool.getNumThreads()), tile);
    });
  }

private:
  /// Returns the rows expert by expert, so that groups that share a weight are
  /// neighbours.
  std::vector<Rows> getRows(const ExpertRowTable &table) const {
    std::vector<Rows> list;
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      for (int64_t expert = 0; expert < shape.experts; ++expert)
        for (int64_t group = 0; group < shape.groups; ++group)
          if (ExpertRows place = table.get(group, rank, expert); place.size > 0)
            list.push_back(cutProduct(rank * shape.experts + expert, place));
      for (int64_t group = 0; group < shape.groups; ++group)
        if (ExpertRows place = table.getRest(group, rank); place.size > 0)
          list.push_back(
              {Rows::none,
               place,
               {tileRows(place.size, shape.out).size, shape.out, 1}});
    }
    return list;
  }

  Rows cutProduct(int64_t expert, ExpertRows place) const {
    if (takesFewRows && place.size <= mostFewRows)
      return {expert, place, {place.size, fewRowsColumns, 1}, true};
    return {expert, place,
            chooseMatmulTiles(1, place.size, shape.out, shape.in, direct)};
  }

  Tiles getRowTiles(const Rows &rows) const {
    return {rows.place.size, rows.grid.rows};
  }
  Tiles getColumnTiles(const Rows &rows) const {
    return {shape.out, rows.grid.columns};
  }

  void writeZeros(const KernelOperands &operands, const Rows &rows,
                  int64_t tile) const {
    auto [row, size] = getRowTiles(rows)[tile];
    std::memset(at(operands.outputs[0], shape.resultType,
                   (rows.place.begin + row) * shape.out),
                0, size * shape.out * getBytes(shape.resultType));
  }

  static const Rows *getLater(const std::vector<Rows> &list, size_t product) {
    return product < list.size() && list[product].isFew ? &list[product]
                                                        : nullptr;
  }

  /// Returns the address of column `column` of the weight of an expert.
  const void *getWeight(const KernelOperands &operands, int64_t expert,
                        int64_t column) const {
    return at(operands.inputs[1], shape.operandType,
              expert * shape.in * shape.out +
                  column * (transposed ? shape.in : 1));
  }

  /// `later` are the rows that this thread will probably process next, if they
  /// are few.
  void multiplyTile(const KernelOperands &operands, const Rows &rows,
                    const Rows *later, int64_t tile) const {
    const Tiles rowTiles = getRowTiles(rows);
    const Tiles::Range own = rowTiles[tile % rowTiles.count];
    const Tiles::Range columns = getColumnTiles(rows)[tile / rowTiles.count];
    const int64_t row = rows.place.begin + own.begin;
    const void *a = at(operands.inputs[0], shape.operandType, row * shape.in);
    const void *b = getWeight(operands, rows.expert, columns.begin);
    void *c = at(operands.outputs[0], shape.resultType,
                 row * shape.out + columns.begin);

    if (rows.isFew) {
      const void *next =
          later ? getWeight(operands, later->expert, columns.begin) : nullptr;
      return multiplyFewRows(
          {static_cast<const float *>(a), static_cast<const float *>(b),
           static_cast<float *>(c), shape.in, shape.out, shape.out, own.size,
           columns.size, shape.in, static_cast<const float *>(next)});
    }
    ProductSpec spec;
    spec.m =
        static_cast<int64_t>(llvm::alignTo(own.size, ProductCache::granule));
    spec.n = columns.size;
    spec.k = shape.in;
    spec.a = {shape.in, 1};
    spec.b =
        transposed ? MatrixLayout{1, shape.in} : MatrixLayout{shape.out, 1};
    spec.cStride = shape.out;
    spec.operandType = shape.operandType;
    spec.resultType = shape.resultType;
    if (spec.m == own.size)
      return products.get(spec).run(a, b, c);
    spec.cStride = columns.size;
    multiplyPadded(spec, row, own.size, a, b, c);
  }

  /// Multiplies more rows than there are, because products have few sizes. The
  /// results of additional rows of x, or of zeros past its end, are dropped.
  void multiplyPadded(const ProductSpec &spec, int64_t row, int64_t size,
                      const void *a, const void *b, void *c) const {
    const int64_t resultBytes = getBytes(shape.resultType);
    const int64_t cBytes = static_cast<int64_t>(
        llvm::alignTo(spec.m * spec.n * resultBytes, scratchAlignment));
    const int64_t aRowBytes = shape.in * getBytes(shape.operandType);
    const bool endsInside = row + spec.m <= shape.countAllRows();
    char *cBlock = static_cast<char *>(getScratch(
        ScratchUse::Tile, cBytes + (endsInside ? 0 : spec.m * aRowBytes)));
    if (!endsInside) {
      char *aBlock = cBlock + cBytes;
      std::memcpy(aBlock, a, size * aRowBytes);
      std::memset(aBlock + size * aRowBytes, 0, (spec.m - size) * aRowBytes);
      a = aBlock;
    }
    products.get(spec).run(a, b, cBlock);
    for (int64_t i = 0; i < size; ++i)
      std::memcpy(at(c, shape.resultType, i * shape.out),
                  cBlock + i * spec.n * resultBytes, spec.n * resultBytes);
  }

  static constexpr int64_t scratchAlignment = 64;
  /// Enough columns to be contiguous in memory, few enough for several threads.
  static constexpr int64_t fewRowsColumns = 1024;

  ExpertShape shape;
  bool transposed;
  ExpertOrder order;
  bool direct, takesFewRows;
  ProductCache products;
};

KernelOrError makeMatmul(const KernelSpec &spec, SpecChecker &checker,
                         ExpertOrder order) {
  ExpertShape shape = readExpertShape(spec, checker);
  const bool transposed = checker.getBool("transpose_weight", false);
  if (!checker.hasFailed()) {
    const TensorShape &weight = spec.inputs[1];
    checker.require(weight.dims.size() == 4,
                    "input 1 is " + toString(weight) +
                        ", expected ranks, experts and a matrix");
    if (!checker.hasFailed())
      shape.out = weight.dims[transposed ? 2 : 3];
    TensorShape expected{shape.operandType,
                         {shape.ranks, shape.experts, shape.in, shape.out}};
    if (transposed)
      std::swap(expected.dims[2], expected.dims[3]);
    checker.requireInput(1, expected);
    checker.requireOutput(
        0,
        {shape.resultType, {shape.groups, shape.ranks, shape.rows, shape.out}});
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<ExpertMatmulKernel>(shape, transposed, order);
}

} // namespace

KernelOrError makeExpertMatmul(const KernelSpec &spec, SpecChecker &checker) {
  return makeMatmul(spec, checker, ExpertOrder::OneByOne);
}

KernelOrError makeGroupedMatmul(const KernelSpec &spec, SpecChecker &checker) {
  return makeMatmul(spec, checker, ExpertOrder::AllAtOnce);
}

} // namespace mf
