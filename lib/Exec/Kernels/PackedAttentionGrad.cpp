//===- PackedAttentionGrad.cpp - Gradients of attention on a matrix unit --===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The formulas are those of FlashAttentionGrad.cpp, on transposed scores: a row
// is a key, a column a query. So p^T and ds^T come out as the left operands of
//   dv += p^T dout  and  dk += ds^T q,
// and ds, in pairs of keys, as the right one of  dq^T += k^T ds.
// A sweep goes through blocks of keys and, for each, through the query heads
// that share them and their blocks of queries. It adds up dk and dv of one
// block, and dq of all, in scratch memory. Where these sums are too many, or
// key heads too few to occupy the threads, there are two sweeps: one whose
// tiles are blocks of keys, for dk and dv, and one of blocks of queries for dq.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "MemoryAhead.h"
#include "PackedAttention.h"
#include "PackedAttentionLoops.h"
#include <array>
#include <limits>

namespace mf {
namespace {

/// The numbers of queries and keys of a block, and of keys that are processed
/// together.
constexpr int64_t blockQueries = 128;
constexpr int64_t blockKeys = 256;
constexpr int64_t sliceKeys = 32;

class PackedAttentionGradKernel : public Kernel {
public:
  PackedAttentionGradKernel(const AttentionShape &shape, MatrixUnit unit)
      : shape(shape), unit(unit), cellType(getCellType(shape.type, unit)),
        elements(getCellElements(cellType)),
        dimCells(getLineCells(cellType, shape.dim)),
        valueCells(getLineCells(cellType, shape.valueDim)),
        dimWidth(roundUpTo(shape.dim, 32)),
        valueWidth(roundUpTo(shape.valueDim, 32)),
        queryTiles(shape.queries, blockQueries),
        keyTiles(shape.keys, blockKeys) {
    const int64_t blockSums = shape.getGroup() * dimWidth * blockQueries;
    oneSweep = blockSums * queryTiles.count <= mostSums &&
               shape.batch * shape.keyHeads >= fewKeyHeads;
    places.kRows = plan.add(blockKeys * dimCells);
    places.vRows = plan.add(blockKeys * valueCells);
    places.kColumns = plan.add(dimWidth * blockKeys / elements);
    places.dk = plan.add(blockKeys * dimWidth);
    places.dv = plan.add(blockKeys * valueWidth);
    places.qColumns = plan.add(blockQueries * dimCells);
    places.doutColumns = plan.add(blockQueries * valueCells);
    places.q = plan.add(blockQueries / elements * dimWidth);
    places.dout = plan.add(blockQueries / elements * valueWidth);
    places.max = plan.add(blockQueries);
    places.norm = plan.add(blockQueries);
    places.delta = plan.add(blockQueries);
    for (SlicePlaces &slice : places.slices) {
      slice.scores = plan.add(sliceKeys * blockQueries);
      slice.slopes = plan.add(sliceKeys * blockQueries);
    }
    places.ds = plan.add(blockKeys / elements * blockQueries);
    places.dqRows = plan.add(blockQueries * dimWidth);
    places.dq = plan.add(oneSweep ? blockSums * queryTiles.count : blockSums);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const QueryRows queries(shape, operands.inputs, 7);
    const int64_t keyHeads = shape.batch * shape.keyHeads;
    const int64_t firstBlock = queries.first / blockQueries;
    const int64_t lastBlock =
        (queries.first + queries.count - 1) / blockQueries;
    const Tiles::Range allKeys = {0, keyTiles.count};
    const Tiles::Range allQueries = {firstBlock, lastBlock - firstBlock + 1};
    if (oneSweep) {
      pool.parallelFor(keyHeads, [&](int64_t keyHead) {
        sweep({plan.get(), operands, queries, keyHead, allKeys, allQueries,
               true, true});
      });
      return;
    }
    pool.parallelFor(keyHeads * keyTiles.count, [&](int64_t tile) {
      const Tiles::Range own = {tile % keyTiles.count, 1};
      sweep({plan.get(), operands, queries, tile / keyTiles.count, own,
             allQueries, true, false});
    });
    pool.parallelFor(keyHeads * allQueries.size, [&](int64_t tile) {
      // Later queries see more keys, so they come first.
      const Tiles::Range own = {lastBlock - tile % allQueries.size, 1};
      sweep({plan.get(), operands, queries, tile / allQueries.size, allKeys,
             own, false, true});
    });
  }

private:
  /// The largest number of f32 sums of dq that a thread keeps.
  static constexpr int64_t mostSums = int64_t{1} << 21;
  static constexpr int64_t fewKeyHeads = 8;

  /// Scores of a slice of keys, and gradients of their softmax.
  struct SlicePlaces {
    int64_t scores, slopes;
  };

  /// The places of all data in scratch memory: those of a block of keys, of a
  /// block of queries, of two slices of keys, and of the sums of dq.
  struct Places {
    int64_t kRows, vRows, kColumns, dk, dv;
    int64_t qColumns, doutColumns, q, dout, max, norm, delta;
    std::array<SlicePlaces, 2> slices;
    int64_t ds, dqRows, dq;
  };

  /// A walk over blocks of keys of one key head and blocks of queries, by their
  /// numbers, with its inputs and results.
  struct Sweep : ScratchCells {
    const KernelOperands &operands;
    const QueryRows &queries;
    int64_t keyHead;
    Tiles::Range keyBlocks, queryBlocks;
    bool wantsKeys, wantsQueries;
  };

  void sweep(const Sweep &work) const {
    const MatrixUnitUse use(unit);
    for (int64_t i = 0; i < work.keyBlocks.size; ++i)
      sweepBlock(work, keyTiles[work.keyBlocks.begin + i]);
  }

  /// Adds the contribution of a block of keys to the gradients of all queries.
  void sweepBlock(const Sweep &work, Tiles::Range keys) const {
    packKeys(work, keys.begin, keys.size);
    MemoryAhead ahead;
    float *dq = work.floats(places.dq);
    for (int64_t i = 0; i < shape.getGroup(); ++i)
      for (int64_t j = 0; j < work.queryBlocks.size; ++j) {
        sweepQueries(work, work.keyHead * shape.getGroup() + i,
                     queryTiles[work.queryBlocks.begin + j], keys, dq, ahead);
        dq += dimWidth * blockQueries;
      }
    if (!work.wantsKeys)
      return;
    const int64_t row = work.keyHead * shape.keys + keys.begin;
    storeRows(work.floats(places.dk), dimWidth, work.operands.outputs[1], row,
              keys.size, shape.dim);
    storeRows(work.floats(places.dv), valueWidth, work.operands.outputs[2], row,
              keys.size, shape.valueDim);
  }

  /// Adds the contribution of a block of keys to the gradients of a head's
  /// block of queries, whose sums are `dq`.
  void sweepQueries(const Sweep &work, int64_t head, Tiles::Range queries,
                    Tiles::Range keys, float *dq, MemoryAhead &ahead) const {
    const int64_t seen = countSeenKeys(shape, queries.begin + queries.size - 1);
    const AttentionBlock block = {queries.begin, queries.size, keys.begin,
                                  std::min(keys.size, seen - keys.begin)};
    if (block.keys <= 0)
      return;
    packQueries(work, block, head);
    askForNext(work, block, head, ahead);
    addSlices(work, block, head, ahead);
    if (!work.wantsQueries)
      return;
    addQueries(work, block, dq);
    if (keys.begin + block.keys == seen)
      storeQueries(work, block, head, dq);
  }

  /// Prefetches the data used after a block of queries: the head's next block,
  /// or the results of the block of keys and the next one.
  void askForNext(const Sweep &work, const AttentionBlock &block, int64_t head,
                  MemoryAhead &ahead) const {
    const auto ask = [&](const void *tensor, int64_t columns, int64_t row,
                         int64_t rows) {
      ahead.add(shape.type, tensor, row * columns, rows * columns);
    };
    const llvm::ArrayRef<void *> inputs = work.operands.inputs;
    const llvm::ArrayRef<void *> outputs = work.operands.outputs;
    const auto [inBlock, row, size] = work.queries.getOwn(block, head);
    const int64_t left = work.queries.first + work.queries.count -
                         (block.firstQuery + inBlock + size);
    if (left > 0) {
      const int64_t rows = std::min(left, blockQueries);
      ask(inputs[0], shape.dim, row + size, rows);
      ask(inputs[3], shape.valueDim, row + size, rows);
      ask(inputs[6], shape.valueDim, row + size, rows);
    } else {
      const int64_t key = work.keyHead * shape.keys + block.firstKey;
      const int64_t rows =
          std::min(shape.keys - block.firstKey - blockKeys, blockKeys);
      ask(inputs[1], shape.dim, key + blockKeys, rows);
      ask(inputs[2], shape.valueDim, key + blockKeys, rows);
      ask(outputs[1], shape.dim, key, block.keys);
      ask(outputs[2], shape.valueDim, key, block.keys);
    }
    if (block.firstKey + block.keys >=
        countSeenKeys(shape, block.firstQuery + block.queries - 1))
      ask(outputs[0], shape.dim, row, size);
  }

  void packKeys(const Sweep &work, int64_t first, int64_t count) const {
    const int64_t row = work.keyHead * shape.keys + first;
    const int64_t rows = roundUpTo(count, sliceKeys);
    const RowBlock k = getRows(shape.type, cellType, work.operands.inputs[1],
                               row, 0, count, shape.dim);
    packRows(k, work.cells(places.kRows), rows, dimCells);
    packRows(getRows(shape.type, cellType, work.operands.inputs[2], row, 0,
                     count, shape.valueDim),
             work.cells(places.vRows), rows, valueCells);
    if (work.wantsQueries)
      packRowsOfColumns(k, work.cells(places.kColumns), rows,
                        blockKeys / elements);
    if (!work.wantsKeys)
      return;
    std::fill_n(work.floats(places.dk), rows * dimWidth, 0.0f);
    std::fill_n(work.floats(places.dv), rows * valueWidth, 0.0f);
  }

  void packQueries(const Sweep &work, const AttentionBlock &block,
                   int64_t head) const {
    const auto [inBlock, row, size] = work.queries.getOwn(block, head);
    const int64_t rows = roundUpTo(block.queries, 32);
    const llvm::ArrayRef<void *> inputs = work.operands.inputs;
    const RowBlock q =
        getRows(shape.type, cellType, inputs[0], row, inBlock, size, shape.dim);
    const RowBlock dout = getRows(shape.type, cellType, inputs[3], row, inBlock,
                                  size, shape.valueDim);
    packPanelsOfRows(q, work.cells(places.qColumns), rows,
                     dimCells * panelColumns);
    packPanelsOfRows(dout, work.cells(places.doutColumns), rows,
                     valueCells * panelColumns);
    if (work.wantsKeys) {
      const int64_t stride = blockQueries / elements * panelColumns;
      packPanels(q, work.cells(places.q), rows, stride);
      packPanels(dout, work.cells(places.dout), rows, stride);
    }
    // Missing queries have p = 0.
    float *max = work.floats(places.max), *norm = work.floats(places.norm),
          *delta = work.floats(places.delta);
    std::fill_n(max, rows, std::numeric_limits<float>::infinity());
    std::fill_n(norm, rows, 0.0f);
    std::fill_n(delta, rows, 0.0f);
    std::copy_n(static_cast<const float *>(inputs[4]) + row, size,
                max + inBlock);
    const float *sum = static_cast<const float *>(inputs[5]) + row;
    std::transform(sum, sum + size, norm + inBlock,
                   [](float value) { return 1.0f / value; });
    runRowProducts(shape.type, at(inputs[6], shape.type, row * shape.valueDim),
                   dout.data, delta + inBlock, size, shape.valueDim);
  }

  /// Some keys of a block and the queries that see at least one of them.
  struct Slice {
    SlicePlaces places;
    /// The first key, and its distance from the first query of the block.
    int64_t key, distance;
    /// The range of queries, in whole columns of 32.
    int64_t column, columns;
  };

  Slice getSlice(const AttentionBlock &block, int64_t key) const {
    const int64_t distance =
        getDistance(shape, block.firstQuery, block.firstKey + key);
    const int64_t column =
        shape.causal ? std::max<int64_t>(distance, 0) / 32 * 32 : 0;
    return {places.slices[key / sliceKeys % 2], key, distance, column,
            roundUpTo(block.queries, 32) - column};
  }

  /// Computes p and ds of all keys of a block, slice by slice, and adds their
  /// products to dk and dv. The products of the previous and the next slice are
  /// computed interleaved with the softmax of a slice.
  void addSlices(const Sweep &work, const AttentionBlock &block, int64_t head,
                 MemoryAhead &ahead) const {
    ProductQueue products(cellType);
    addScores(work, getSlice(block, 0), products);
    products.run(products.getLines());
    const float slope = getSlope(work.operands.inputs, shape, head);
    for (int64_t key = 0; key < block.keys; key += sliceKeys) {
      if (work.wantsKeys && key > 0)
        addKeys(work, getSlice(block, key - sliceKeys), products);
      if (key + sliceKeys < block.keys)
        addScores(work, getSlice(block, key + sliceKeys), products);
      const Slice slice = getSlice(block, key);
      runPackedSoftmaxGrad(
          cellType,
          {work.floats(slice.places.scores), work.floats(slice.places.slopes),
           blockQueries, sliceKeys, slice.columns,
           shape.keys - block.firstKey - key,
           work.floats(places.max) + slice.column,
           work.floats(places.norm) + slice.column,
           work.floats(places.delta) + slice.column, shape.scale, slope,
           slice.distance - slice.column, shape.causal},
          work.cells(places.ds) + slice.column * (blockKeys / elements) +
              key / elements * panelColumns,
          blockKeys / elements * panelColumns, ahead, products);
    }
    if (!work.wantsKeys)
      return;
    addKeys(work, getSlice(block, (block.keys - 1) / sliceKeys * sliceKeys),
            products);
    products.run(products.getLines());
  }

  /// Computes s = q k^T and dp = dout v^T, transposed.
  void addScores(const Sweep &work, const Slice &slice,
                 ProductQueue &products) const {
    products.add({work.cells(places.kRows) + slice.key * dimCells, dimCells,
                  work.cells(places.qColumns) + slice.column * dimCells,
                  dimCells * panelColumns, work.floats(slice.places.scores),
                  blockQueries, sliceKeys, slice.columns, dimCells, false});
    products.add({work.cells(places.vRows) + slice.key * valueCells, valueCells,
                  work.cells(places.doutColumns) + slice.column * valueCells,
                  valueCells * panelColumns, work.floats(slice.places.slopes),
                  blockQueries, sliceKeys, slice.columns, valueCells, false});
  }

  /// Computes dv += p^T dout and dk += ds^T q.
  void addKeys(const Sweep &work, const Slice &slice,
               ProductQueue &products) const {
    const int64_t panel = slice.column / elements * panelColumns;
    const int64_t stride = blockQueries / elements * panelColumns;
    products.add({work.cells(slice.places.scores), blockQueries,
                  work.cells(places.dout) + panel, stride,
                  work.floats(places.dv) + slice.key * valueWidth, valueWidth,
                  sliceKeys, valueWidth, slice.columns / elements, true});
    products.add({work.cells(slice.places.slopes), blockQueries,
                  work.cells(places.q) + panel, stride,
                  work.floats(places.dk) + slice.key * dimWidth, dimWidth,
                  sliceKeys, dimWidth, slice.columns / elements, true});
  }

  /// Adds ds k, transposed, to the sums of a block of queries. Each group of 32
  /// queries uses only the keys that they see.
  void addQueries(const Sweep &work, const AttentionBlock &block,
                  float *dq) const {
    const auto countKeys = [&](int64_t column) {
      const int64_t seen =
          countSeenKeys(shape, block.firstQuery + column + 31) - block.firstKey;
      return roundUpTo(std::clamp<int64_t>(seen, 0, block.keys), 32);
    };
    const int64_t columns = roundUpTo(block.queries, 32);
    for (int64_t column = 0; column < columns;) {
      const int64_t begin = column, keys = countKeys(begin);
      while (column < columns && countKeys(column) == keys)
        column += 32;
      if (keys > 0)
        runBlockProduct(cellType,
                        {work.cells(places.kColumns), blockKeys / elements,
                         work.cells(places.ds) + begin * (blockKeys / elements),
                         blockKeys / elements * panelColumns, dq + begin,
                         blockQueries, dimWidth, column - begin,
                         keys / elements, block.firstKey != 0});
    }
  }

  void storeQueries(const Sweep &work, const AttentionBlock &block,
                    int64_t head, const float *dq) const {
    const auto [inBlock, row, size] = work.queries.getOwn(block, head);
    packRowsOfColumns({DType::F32, DType::F32, dq, 0, dimWidth, blockQueries},
                      work.cells(places.dqRows), dimWidth, dimWidth);
    storeRows(work.floats(places.dqRows) + inBlock * dimWidth, dimWidth,
              work.operands.outputs[0], row, size, shape.dim);
  }

  /// Rounds rows of sums at a distance of `width` to rows of `columns`
  /// elements.
  void storeRows(const float *sums, int64_t width, void *tensor, int64_t row,
                 int64_t rows, int64_t columns) const {
    const int64_t count = width == columns ? rows : 1;
    for (int64_t i = 0; i < rows; i += count)
      runCastLoop(DType::F32, shape.type, sums + i * width,
                  at(tensor, shape.type, (row + i) * columns), count * columns);
  }

  AttentionShape shape;
  MatrixUnit unit;
  DType cellType;
  int64_t elements;
  /// Cells of a row of queries or keys, and of one of values.
  int64_t dimCells, valueCells;
  /// The columns of the sums, with zeros after those of the tensors.
  int64_t dimWidth, valueWidth;
  Tiles queryTiles, keyTiles;
  bool oneSweep;
  ScratchPlan plan;
  Places places;
};

} // namespace

std::unique_ptr<Kernel> makePackedAttentionGrad(const AttentionShape &shape,
                                                MatrixUnit unit) {
  return std::make_unique<PackedAttentionGradKernel>(shape, unit);
}

} // namespace mf
