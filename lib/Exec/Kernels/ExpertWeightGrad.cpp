//===- ExpertWeightGrad.cpp - Gradients of the weights of experts ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The gradient of a weight is x^T dy over the rows of its expert in all groups.
// Rows are processed in blocks of a fixed depth, whose products are added in
// f32. A block with fewer rows, or whose rows are not contiguous, is gathered
// and padded with zeros. Both forms compute the same tiles of each gradient and
// hence the same bits.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "ExpertRows.h"
#include "Factories.h"
#include "MatrixProduct.h"
#include "Scratch.h"
#include "Tiles.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

namespace mf {
namespace {

constexpr int64_t blockDepth = 256;

/// A tile of one gradient, and its sum so far.
struct GradientTile {
  Tiles::Range rows, columns;
  void *to;
  DType type;
  int64_t stride;
  int64_t taken = 0;
};

class ExpertWeightGradKernel : public Kernel {
public:
  ExpertWeightGradKernel(const ExpertShape &shape, ExpertOrder order)
      : shape(shape), order(order),
        grid(chooseMatmulTiles(
            1, shape.in, shape.out, blockDepth,
            multipliesDirectly(shape.operandType, DType::F32))),
        rowTiles(shape.in, grid.rows), columnTiles(shape.out, grid.columns) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const ExpertRowTable table(shape, operands.getInput<float>(2));
    const std::vector<int64_t> tileCounts(shape.ranks * shape.experts,
                                          rowTiles.count * columnTiles.count);
    runExpertTiles(order, tileCounts, pool, [&](size_t expert, int64_t tile) {
      runTile(operands, table, static_cast<int64_t>(expert), tile);
    });
  }

private:
  void runTile(const KernelOperands &operands, const ExpertRowTable &table,
               int64_t expert, int64_t number) const {
    llvm::SmallVector<ExpertRows, 8> pieces;
    int64_t depth = 0;
    for (int64_t group = 0; group < shape.groups; ++group) {
      pieces.push_back(
          table.get(group, expert / shape.experts, expert % shape.experts));
      depth += pieces.back().size;
    }
    GradientTile tile;
    tile.rows = rowTiles[number % rowTiles.count];
    tile.columns = columnTiles[number / rowTiles.count];
    tile.to = at(operands.outputs[0], shape.resultType,
                 (expert * shape.in + tile.rows.begin) * shape.out +
                     tile.columns.begin);
    tile.type = shape.resultType;
    tile.stride = shape.out;
    if (depth == 0)
      return writeZeros(tile);
    if (depth <= blockDepth || shape.resultType == DType::F32)
      return addAll(operands, pieces, depth, tile);

    void *result = tile.to;
    tile.to = getScratch(ScratchUse::Sums,
                         tile.rows.size * tile.columns.size * sizeof(float));
    tile.type = DType::F32;
    tile.stride = tile.columns.size;
    addAll(operands, pieces, depth, tile);
    for (int64_t row = 0; row < tile.rows.size; ++row)
      runCastLoop(DType::F32, shape.resultType,
                  at(tile.to, DType::F32, row * tile.stride),
                  at(result, shape.resultType, row * shape.out),
                  tile.columns.size);
  }

  static void writeZeros(const GradientTile &tile) {
    for (int64_t row = 0; row < tile.rows.size; ++row)
      std::memset(at(tile.to, tile.type, row * tile.stride), 0,
                  tile.columns.size * getBytes(tile.type));
  }

  void addAll(const KernelOperands &operands,
              llvm::MutableArrayRef<ExpertRows> pieces, int64_t depth,
              GradientTile &tile) const {
    for (; tile.taken < depth; tile.taken += blockDepth) {
      while (pieces.front().size == 0)
        pieces = pieces.drop_front();
      ExpertRows &first = pieces.front();
      if (first.size >= blockDepth) {
        addNeighbours(operands, first.begin, tile);
        first = {first.begin + blockDepth, first.size - blockDepth};
      } else {
        addGathered(operands, pieces, std::min(blockDepth, depth - tile.taken),
                    tile);
      }
    }
  }

  ProductSpec getSpec(const GradientTile &tile, int64_t depth) const {
    return {tile.rows.size,
            tile.columns.size,
            depth,
            {},
            {},
            tile.stride,
            shape.operandType,
            tile.type,
            tile.taken > 0};
  }

  void addNeighbours(const KernelOperands &operands, int64_t row,
                     const GradientTile &tile) const {
    ProductSpec spec = getSpec(tile, blockDepth);
    spec.a = {1, shape.in};
    spec.b = {shape.out, 1};
    products.get(spec).run(at(operands.inputs[0], shape.operandType,
                              row * shape.in + tile.rows.begin),
                           at(operands.inputs[1], shape.operandType,
                              row * shape.out + tile.columns.begin),
                           tile.to);
  }

  void addGathered(const KernelOperands &operands,
                   llvm::MutableArrayRef<ExpertRows> pieces, int64_t size,
                   const GradientTile &tile) const {
    const auto depth =
        static_cast<int64_t>(llvm::alignTo(size, ProductCache::granule));
    const int64_t bytes = getBytes(shape.operandType);
    const int64_t xBytes = tile.rows.size * bytes;
    const int64_t dyBytes = tile.columns.size * bytes;
    char *x = static_cast<char *>(
        getScratch(ScratchUse::Tile, depth * (xBytes + dyBytes)));
    char *dy = x + depth * xBytes;
    int64_t done = 0;
    for (ExpertRows &piece : pieces) {
      const int64_t taken = std::min(piece.size, size - done);
      for (int64_t row = piece.begin; row < piece.begin + taken;
           ++row, ++done) {
        std::memcpy(x + done * xBytes,
                    at(operands.inputs[0], shape.operandType,
                       row * shape.in + tile.rows.begin),
                    xBytes);
        std::memcpy(dy + done * dyBytes,
                    at(operands.inputs[1], shape.operandType,
                       row * shape.out + tile.columns.begin),
                    dyBytes);
      }
      piece = {piece.begin + taken, piece.size - taken};
    }
    std::memset(x + done * xBytes, 0, (depth - done) * xBytes);
    std::memset(dy + done * dyBytes, 0, (depth - done) * dyBytes);
    ProductSpec spec = getSpec(tile, depth);
    spec.a = {1, tile.rows.size};
    spec.b = {tile.columns.size, 1};
    products.get(spec).run(x, dy, tile.to);
  }

  ExpertShape shape;
  ExpertOrder order;
  MatmulTiles grid;
  Tiles rowTiles, columnTiles;
  ProductCache products;
};

KernelOrError makeWeightGrad(const KernelSpec &spec, SpecChecker &checker,
                             ExpertOrder order) {
  ExpertShape shape = readExpertShape(spec, checker);
  if (!checker.hasFailed()) {
    shape.out = spec.inputs[1].dims.empty() ? 1 : spec.inputs[1].dims.back();
    checker.requireInput(1,
                         {shape.operandType,
                          {shape.groups, shape.ranks, shape.rows, shape.out}});
    checker.requireOutput(
        0,
        {shape.resultType, {shape.ranks, shape.experts, shape.in, shape.out}});
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<ExpertWeightGradKernel>(shape, order);
}

} // namespace

KernelOrError makeExpertWeightGrad(const KernelSpec &spec,
                                   SpecChecker &checker) {
  return makeWeightGrad(spec, checker, ExpertOrder::OneByOne);
}

KernelOrError makeGroupedWeightGrad(const KernelSpec &spec,
                                    SpecChecker &checker) {
  return makeWeightGrad(spec, checker, ExpertOrder::AllAtOnce);
}

} // namespace mf
