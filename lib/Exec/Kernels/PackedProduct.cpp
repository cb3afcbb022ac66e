//===- PackedProduct.cpp - bf16 products of packed panels -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BlockPacking.h"
#include "ElementwiseLoops.h"
#include "MatrixProduct.h"
#include "MatrixUnit.h"
#include "Scratch.h"
#include "Tiles.h"
#include "llvm/Support/MathExtras.h"

namespace mf {
namespace {

/// Rows and columns of the result that stay in the registers of AMX.
constexpr int64_t square = 32;

/// The rows and columns of a block of the result. Its sums and the panels that
/// are multiplied for it fit a second-level cache of 2 MiB.
constexpr int64_t mostBlock = 512;

/// The depth of a square of panels that takes half of a first-level cache of 48
/// KiB.
constexpr int64_t mostDepth = 384;

/// Rows of a that are packed at a time.
constexpr int64_t packedRows = 128;

/// Returns the size of equal pieces of at most `most`, which is a multiple of
/// `square`.
int64_t cut(int64_t total, int64_t most) {
  const auto pieces = static_cast<int64_t>(llvm::divideCeil(total, most));
  return static_cast<int64_t>(
      llvm::alignTo(llvm::divideCeil(total, pieces), square));
}

/// A part of an operand with `count` rows (of b: columns) of `depth` elements,
/// as rows in memory. `alongDepth` tells whether these run along the depth.
struct OperandPart {
  RowBlock rows;
  bool alongDepth;
  int64_t count, depth;

  OperandPart(const void *elements, int64_t stride, bool alongDepth,
              int64_t count, int64_t depth)
      : rows{DType::BF16,
             DType::BF16,
             elements,
             0,
             alongDepth ? count : depth,
             alongDepth ? depth : count,
             stride},
        alongDepth(alongDepth), count(count), depth(depth) {}

  void packLeft(Cell *cells, int64_t stride) const {
    if (alongDepth)
      packRows(rows, cells, roundUpTo(count, square), stride);
    else
      packRowsOfColumns(rows, cells, roundUpTo(depth, square), stride);
  }

  void packRight(Cell *cells, int64_t stride) const {
    if (alongDepth)
      packPanelsOfRows(rows, cells, roundUpTo(count, square), stride);
    else
      packPanels(rows, cells, roundUpTo(depth, square), stride);
  }
};

class PackedProduct : public Product {
public:
  explicit PackedProduct(const ProductSpec &spec)
      : spec(spec), rowBlocks(spec.m, cut(spec.m, mostBlock)),
        columnBlocks(spec.n, cut(spec.n, mostBlock)),
        depths(spec.k, cut(spec.k, mostDepth)) {}

  void run(const void *a, const void *b, void *c) const override {
    const MatrixUnitUse use(MatrixUnit::Amx);
    const Work work = getWork();
    for (int64_t j = 0; j < columnBlocks.count; ++j)
      for (int64_t i = 0; i < rowBlocks.count; ++i)
        multiplyBlock(a, b, c, rowBlocks[i], columnBlocks[j], work);
  }

private:
  /// Packed parts of both operands and the sums of a block, in scratch memory.
  /// No stride is a multiple of a power of two that would map many rows to few
  /// sets of the caches.
  struct Work {
    Cell *left, *right;
    float *sums;
    /// Cells from a row of `left`, and from a panel of `right`, to the next.
    int64_t leftStride, rightStride;
    int64_t sumStride;
  };

  Work getWork() const {
    Work work;
    const int64_t cells = depths.size / 2;
    work.leftStride = cells + lineCells;
    work.rightStride = cells * panelColumns + lineCells;
    work.sumStride = columnBlocks.size + lineCells;
    const int64_t left = packedRows * work.leftStride;
    const int64_t right = columnBlocks.size / panelColumns * work.rightStride;
    work.left = static_cast<Cell *>(getScratch(
        ScratchUse::Library,
        (left + right + rowBlocks.size * work.sumStride) * sizeof(Cell)));
    work.right = work.left + left;
    work.sums = reinterpret_cast<float *>(work.right + right);
    return work;
  }

  /// Returns rows of a in a range of the depth.
  OperandPart getLeft(const void *a, int64_t row, int64_t count,
                      Tiles::Range k) const {
    const bool alongDepth = spec.a.columnStride == 1;
    return {at(a, DType::BF16,
               row * spec.a.rowStride + k.begin * spec.a.columnStride),
            alongDepth ? spec.a.rowStride : spec.a.columnStride, alongDepth,
            count, k.size};
  }

  /// Returns columns of b in a range of the depth.
  OperandPart getRight(const void *b, Tiles::Range columns,
                       Tiles::Range k) const {
    const bool alongDepth = spec.b.rowStride == 1;
    return {
        at(b, DType::BF16,
           columns.begin * spec.b.columnStride + k.begin * spec.b.rowStride),
        alongDepth ? spec.b.columnStride : spec.b.rowStride, alongDepth,
        columns.size, k.size};
  }

  void multiplyBlock(const void *a, const void *b, void *c, Tiles::Range rows,
                     Tiles::Range columns, const Work &work) const {
    for (int64_t part = 0; part < depths.count; ++part) {
      const Tiles::Range k = depths[part];
      getRight(b, columns, k).packRight(work.right, work.rightStride);
      for (int64_t i = 0; i < rows.size; i += packedRows) {
        const int64_t count = std::min(packedRows, rows.size - i);
        getLeft(a, rows.begin + i, count, k)
            .packLeft(work.left, work.leftStride);
        for (int64_t j = 0; j < count; j += square)
          multiplyRows(work, i + j, columns.size, part);
        if (part + 1 == depths.count)
          for (int64_t j = i; j < i + count; ++j)
            storeRow(work.sums + j * work.sumStride, columns.size,
                     at(c, spec.resultType,
                        (rows.begin + j) * spec.cStride + columns.begin));
      }
    }
  }

  /// Adds the products of part `part` of the depth to `square` rows of sums.
  void multiplyRows(const Work &work, int64_t row, int64_t columns,
                    int64_t part) const {
    runBlockProduct(DType::BF16,
                    {work.left + row % packedRows * work.leftStride,
                     work.leftStride, work.right, work.rightStride,
                     work.sums + row * work.sumStride, work.sumStride, square,
                     roundUpTo(columns, square),
                     roundUpTo(depths[part].size, square) / 2, part > 0});
  }

  void storeRow(const float *sums, int64_t count, void *c) const {
    if (spec.accumulate)
      runBinaryLoop(BinaryOp::Add, Advance::Both, DType::F32, c, sums, c,
                    count);
    else
      runCastLoop(DType::F32, spec.resultType, sums, c, count);
  }

  ProductSpec spec;
  Tiles rowBlocks, columnBlocks, depths;
};

} // namespace

std::shared_ptr<const Product> getPackedProduct(const ProductSpec &spec) {
  const bool hasTypes = spec.operandType == DType::BF16 &&
                        (spec.resultType == DType::F32 ||
                         (spec.resultType == DType::BF16 && !spec.accumulate));
  if (!hasTypes || spec.k == 0 || getMatrixUnit() != MatrixUnit::Amx)
    return nullptr;
  return std::make_shared<PackedProduct>(spec);
}

} // namespace mf
