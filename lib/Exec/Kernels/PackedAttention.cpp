//===- PackedAttention.cpp - Attention on a matrix unit -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of work has some positions of the queries of all heads that share a
// key head. It processes the keys block by block. Keys and values are packed
// once for all of the tile's queries, whose state (Dao et al., 2022) stays in
// the second-level cache, and 32 rows of scores at a time pass through the
// first-level one. Keys that none of 32 queries sees are skipped in units of
// 32.
//
//===----------------------------------------------------------------------===//

#include "PackedAttention.h"
#include "BlockPacking.h"
#include "MemoryAhead.h"
#include "PackedAttentionLoops.h"
#include "Scratch.h"

namespace mf {
namespace {

class PackedAttentionKernel : public Kernel {
public:
  PackedAttentionKernel(const AttentionShape &shape, MatrixUnit unit)
      : shape(shape), unit(unit), cellType(getCellType(shape.type, unit)),
        dimCells(getLineCells(cellType, shape.dim)),
        width(roundUpTo(shape.valueDim, 32)),
        keyCells(softmaxKeys / getCellElements(cellType)),
        positions(choosePositions()) {
    const int64_t rows = shape.getGroup() * positions;
    places.q = plan.add(rows * dimCells);
    places.result = plan.add(rows * width);
    places.max = plan.add(rows);
    places.sums = plan.add(rows * 16);
    places.k = plan.add(softmaxKeys * dimCells);
    places.v = plan.add(keyCells * width);
    places.scores = plan.add(softmaxRows * softmaxKeys);
    places.sum = plan.add(softmaxRows);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const QueryRows rows(shape, operands.inputs, 3);
    const int64_t firstTile = rows.first / positions;
    const int64_t tiles =
        (rows.first + rows.count - 1) / positions + 1 - firstTile;
    pool.parallelFor(shape.batch * shape.keyHeads * tiles, [&](int64_t tile) {
      // Later queries see more keys, so they come first.
      const int64_t first = (firstTile + tiles - 1 - tile % tiles) * positions;
      runTile(operands, rows, tile / tiles, first);
    });
  }

private:
  /// Offsets of all parts of scratch memory.
  struct Places {
    int64_t q, result, max, sums, k, v, scores, sum;
  };

  /// A tile's memory and its operands.
  struct Tile : ScratchCells {
    const KernelOperands &operands;
    const QueryRows &queries;
    int64_t keyHead;
    int64_t firstQuery, queryCount;
  };

  /// Returns a number of positions with enough rows to make packing worthwhile
  /// and enough tiles to occupy the threads of any machine. It depends only on
  /// the shape.
  int64_t choosePositions() const {
    constexpr int64_t mostRows = 512, enoughTiles = 32;
    int64_t positions = mostRows;
    const int64_t heads = shape.batch * shape.keyHeads;
    while (
        positions > 2 * softmaxRows &&
        (positions * shape.getGroup() > mostRows ||
         heads * ((shape.queries + positions - 1) / positions) < enoughTiles))
      positions /= 2;
    return std::min(positions, roundUpTo(shape.queries, softmaxRows));
  }

  void runTile(const KernelOperands &operands, const QueryRows &queries,
               int64_t keyHead, int64_t first) const {
    const int64_t count = std::min(positions, shape.queries - first);
    const Tile tile = {plan.get(), operands, queries, keyHead, first, count};
    const MatrixUnitUse use(unit);
    const int64_t seen = countSeenKeys(shape, first + count - 1);
    int64_t asked = 0;
    for (int64_t key = 0; key < seen; key += softmaxKeys) {
      int64_t packed = key;
      forEachBlock(tile, [&](AttentionBlock block, int64_t head, int64_t row) {
        const int64_t blockSeen =
            countSeenKeys(shape, block.firstQuery + block.queries - 1);
        block.firstKey = key;
        block.keys = std::min(softmaxKeys, blockSeen - key);
        if (block.keys <= 0)
          return;
        packed = packKeys(tile, key, packed, key + block.keys);
        const bool isLast = key + block.keys == blockSeen;
        MemoryAhead ahead;
        if (key == 0)
          packQueries(tile, block, head, row, ahead);
        asked = askForKeys(tile, std::max(asked, packed),
                           std::min(packed + softmaxKeys, seen), ahead);
        if (isLast)
          askForResult(tile, block, head, ahead);
        attend(tile, block, head, row, ahead);
        if (isLast)
          storeResult(tile, block, head, row);
      });
    }
  }

  /// Calls `visit(block, head, row)` for the tile's blocks of query rows, where
  /// `row` is the first one's place in the state.
  template <typename Visit>
  void forEachBlock(const Tile &tile, const Visit &visit) const {
    for (int64_t i = 0; i < shape.getGroup(); ++i)
      for (int64_t query = 0; query < tile.queryCount; query += softmaxRows) {
        const AttentionBlock block = {
            tile.firstQuery + query,
            std::min(softmaxRows, tile.queryCount - query), 0, 0};
        if (block.firstQuery < tile.queries.first + tile.queries.count &&
            block.firstQuery + block.queries > tile.queries.first)
          visit(block, tile.keyHead * shape.getGroup() + i,
                i * positions + query);
      }
  }

  void packQueries(const Tile &tile, const AttentionBlock &block, int64_t head,
                   int64_t row, MemoryAhead &ahead) const {
    const auto [inBlock, own, size] = tile.queries.getOwn(block, head);
    packRows(getRows(shape.type, cellType, tile.operands.inputs[0], own,
                     inBlock, size, shape.dim),
             tile.cells(places.q) + row * dimCells,
             roundUpTo(block.queries, 16), dimCells);
    // The next block of the head, if there is one, but no rows past the end.
    const int64_t behind =
        std::min(softmaxRows, tile.queries.first + tile.queries.count -
                                  (block.firstQuery + block.queries));
    ahead.add(shape.type, tile.operands.inputs[0], (own + size) * shape.dim,
              behind * shape.dim);
  }

  /// Packs the keys of [packed, end) that are not packed yet, of the block that
  /// begins with key `first`, in units that are computed together. Returns the
  /// new end.
  int64_t packKeys(const Tile &tile, int64_t first, int64_t packed,
                   int64_t end) const {
    end = std::min(first + roundUpTo(end - first, 32), shape.keys);
    if (packed >= end)
      return packed;
    const int64_t row = tile.keyHead * shape.keys + packed;
    const int64_t place = packed - first, count = end - packed;
    const int64_t rows = roundUpTo(count, 32);
    packPanelsOfRows(getRows(shape.type, cellType, tile.operands.inputs[1], row,
                             0, count, shape.dim),
                     tile.cells(places.k) + place * dimCells, rows,
                     dimCells * panelColumns);
    packPanels(getRows(shape.type, cellType, tile.operands.inputs[2], row, 0,
                       count, shape.valueDim),
               tile.cells(places.v) +
                   place / getCellElements(cellType) * panelColumns,
               rows, keyCells * panelColumns);
    return end;
  }

  /// Prefetches some of the keys [begin, end). Returns the start of the
  /// remaining ones.
  int64_t askForKeys(const Tile &tile, int64_t begin, int64_t end,
                     MemoryAhead &ahead) const {
    const int64_t row = tile.keyHead * shape.keys + begin;
    const int64_t count = std::min<int64_t>(32, end - begin);
    if (count <= 0)
      return begin;
    ahead.add(shape.type, tile.operands.inputs[1], row * shape.dim,
              count * shape.dim);
    ahead.add(shape.type, tile.operands.inputs[2], row * shape.valueDim,
              count * shape.valueDim);
    return begin + count;
  }

  void askForResult(const Tile &tile, const AttentionBlock &block, int64_t head,
                    MemoryAhead &ahead) const {
    const auto [inBlock, own, size] = tile.queries.getOwn(block, head);
    ahead.add(shape.type, tile.operands.outputs[2], own * shape.valueDim,
              size * shape.valueDim);
  }

  /// Brings the state of a block of query rows up to date by a block of keys.
  void attend(const Tile &tile, const AttentionBlock &block, int64_t head,
              int64_t row, MemoryAhead &ahead) const {
    const int64_t rows = roundUpTo(block.queries, 16);
    const int64_t columns = roundUpTo(block.keys, 32);
    const bool isFirst = block.firstKey == 0;
    float *scores = tile.floats(places.scores);
    runBlockProduct(cellType,
                    {tile.cells(places.q) + row * dimCells, dimCells,
                     tile.cells(places.k), dimCells * panelColumns, scores,
                     softmaxKeys, rows, columns, dimCells, false});
    ScoreBlock softmax = getScores(shape, block, scores, softmaxKeys,
                                   getSlope(tile.operands.inputs, shape, head));
    softmax.rows = rows;
    float *result = tile.floats(places.result) + row * width;
    runPackedSoftmax(cellType, softmax,
                     {tile.floats(places.max) + row,
                      tile.floats(places.sums) + row * 16, result, width},
                     isFirst, ahead);
    runBlockProduct(cellType, {tile.cells(places.scores), softmaxKeys,
                               tile.cells(places.v), keyCells * panelColumns,
                               result, width, rows, width,
                               columns / getCellElements(cellType), !isFirst});
  }

  void storeResult(const Tile &tile, const AttentionBlock &block, int64_t head,
                   int64_t row) const {
    const auto [inBlock, own, size] = tile.queries.getOwn(block, head);
    float *sum = tile.floats(places.sum);
    const int64_t from = row + inBlock;
    addUpSums(tile.floats(places.sums) + from * 16, sum, size);
    std::copy_n(tile.floats(places.max) + from, size,
                static_cast<float *>(tile.operands.outputs[0]) + own);
    std::copy_n(sum, size,
                static_cast<float *>(tile.operands.outputs[1]) + own);
    const float *result = tile.floats(places.result) + from * width;
    void *out = at(tile.operands.outputs[2], shape.type, own * shape.valueDim);
    if (width == shape.valueDim) {
      runDivideRows(shape.type, result, sum, out, size, width);
      return;
    }
    for (int64_t i = 0; i < size; ++i)
      runDivideRows(shape.type, result + i * width, sum + i,
                    at(out, shape.type, i * shape.valueDim), 1, shape.valueDim);
  }

  AttentionShape shape;
  MatrixUnit unit;
  DType cellType;
  /// Cells of a row of queries or keys.
  int64_t dimCells;
  /// The columns of the result, with zeros after those of the values.
  int64_t width;
  /// Cells of a block's keys, which are summed over.
  int64_t keyCells;
  /// Queries of each head in a tile, a multiple of `softmaxRows`.
  int64_t positions;
  ScratchPlan plan;
  Places places;
};

} // namespace

std::unique_ptr<Kernel> makePackedAttention(const AttentionShape &shape,
                                            MatrixUnit unit) {
  return std::make_unique<PackedAttentionKernel>(shape, unit);
}

} // namespace mf
