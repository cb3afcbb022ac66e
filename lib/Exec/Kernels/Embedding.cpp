//===- Embedding.cpp - Rows of a table by index ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An index outside of the table reads a row of zeros and adds to no gradient.
// So a rank that has part of a table needs to know no more than the number of
// its first row.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "ReduceLoops.h"
#include "Scratch.h"
#include "StreamedOutput.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

namespace mf {
namespace {

struct TableShape {
  DType type;
  int64_t vocabulary, width, indices;
};

/// Returns the index of the table's first row: 0, or the value of the third
/// input.
int64_t getFirstRow(const KernelOperands &operands) {
  return operands.inputs.size() > 2 ? *operands.getInput<int32_t>(2) : 0;
}

/// A tile is a range of the table's rows. It searches all indices for those of
/// its rows and adds the gradients of each row in their order, in f32. Rows
/// without gradients, which are most of a large table, are only filled with
/// zeros.
struct EmbeddingBackwardKernel {
  TableShape shape;
  int64_t rowBytes = shape.width * getBytes(shape.type);
  bool streamed = isStreamed(shape.vocabulary * rowBytes);
  Tiles tiles = {shape.vocabulary,
                 std::max<int64_t>(1, elementsOfTile / shape.width)};

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      const llvm::ArrayRef<Use> uses = findUses(operands, begin, size);
      auto *next = operands.getOutput<char>(0) + begin * rowBytes;
      char *const end = next + size * rowBytes;
      for (const Use *use = uses.begin(); use != uses.end();) {
        const Use *last = std::find_if(
            use, uses.end(), [&](const Use &u) { return u.row != use->row; });
        char *row = operands.getOutput<char>(0) + use->row * rowBytes;
        fillZero(next, row);
        addGradients(operands.inputs[0], {use, last}, row);
        next = row + rowBytes;
        use = last;
      }
      fillZero(next, end);
      if (streamed)
        finishStreaming();
    });
  }

  static constexpr int64_t elementsOfTile = 524288;

  /// An index of a row, and the position of that index.
  struct Use {
    int64_t row, place;
  };

  /// Returns the uses of the rows [begin, begin + size), ordered by row and,
  /// for each row, by position.
  llvm::ArrayRef<Use> findUses(const KernelOperands &operands, int64_t begin,
                               int64_t size) const {
    const auto *indices = operands.getInput<int32_t>(1);
    const int64_t firstRow = getFirstRow(operands) + begin;
    auto isHere = [&](int32_t index) {
      return index >= firstRow && index < firstRow + size;
    };
    const llvm::ArrayRef all(indices, shape.indices);
    auto *uses = static_cast<Use *>(getScratch(
        ScratchUse::Tile, llvm::count_if(all, isHere) * sizeof(Use)));
    int64_t count = 0;
    for (int64_t i = 0; i < shape.indices; ++i)
      if (isHere(indices[i]))
        uses[count++] = {begin + indices[i] - firstRow, i};
    std::sort(uses, uses + count, [](const Use &a, const Use &b) {
      return std::pair(a.row, a.place) < std::pair(b.row, b.place);
    });
    return {uses, static_cast<size_t>(count)};
  }

  void addGradients(const void *gradients, llvm::ArrayRef<Use> uses,
                    void *row) const {
    auto *sums = static_cast<float *>(
        shape.type == DType::F32
            ? row
            : getScratch(ScratchUse::Sums, shape.width * sizeof(float)));
    std::memset(sums, 0, shape.width * sizeof(float));
    for (const Use &use : uses)
      runAccumulateLoop(shape.type,
                        at(gradients, shape.type, use.place * shape.width),
                        sums, shape.width);
    if (shape.type != DType::F32)
      runCastLoop(DType::F32, shape.type, sums, row, shape.width);
  }

  void fillZero(char *begin, const char *end) const {
    if (streamed)
      streamZeros(begin, end - begin);
    else
      std::memset(begin, 0, end - begin);
  }
};

TableShape getTableShape(const TensorShape &table, const TensorShape &indices) {
  return {table.type, table.dims[0], table.dims[1], indices.getNumElements()};
}

void requireTable(SpecChecker &checker, const TensorShape &table,
                  const llvm::Twine &role) {
  checker.require(isFloat(table.type) && table.dims.size() == 2,
                  role + " is " + toString(table) +
                      ", expected a table of f32, bf16 or f16 rows");
}

TensorShape getRows(const TensorShape &table, const TensorShape &indices) {
  TensorShape rows{table.type, indices.dims};
  rows.dims.push_back(table.dims.back());
  return rows;
}

} // namespace

KernelOrError makeEmbedding(const KernelSpec &spec, SpecChecker &checker) {
  requireTable(checker, spec.inputs[0], "input 0");
  checker.requireInputType(1, DType::I32);
  if (spec.inputs.size() > 2)
    checker.requireInput(2, {DType::I32, {1}});
  if (!checker.hasFailed())
    checker.requireOutput(0, getRows(spec.inputs[0], spec.inputs[1]));
  if (llvm::Error error = checker.takeError())
    return error;
  const TableShape shape = getTableShape(spec.inputs[0], spec.inputs[1]);
  return makeTiledKernel(
      tileRows(shape.indices, shape.width),
      [shape](const KernelOperands &operands, int64_t begin, int64_t size) {
        const auto *indices = operands.getInput<int32_t>(1);
        const int64_t firstRow = getFirstRow(operands);
        const size_t rowBytes = shape.width * getBytes(shape.type);
        for (int64_t i = begin; i < begin + size; ++i) {
          void *to = at(operands.outputs[0], shape.type, i * shape.width);
          const int64_t row = indices[i] - firstRow;
          if (row >= 0 && row < shape.vocabulary)
            std::memcpy(to,
                        at(operands.inputs[0], shape.type, row * shape.width),
                        rowBytes);
          else
            std::memset(to, 0, rowBytes);
        }
      });
}

KernelOrError makeEmbeddingBackward(const KernelSpec &spec,
                                    SpecChecker &checker) {
  requireTable(checker, spec.outputs[0], "output 0");
  checker.requireInputType(1, DType::I32);
  if (spec.inputs.size() > 2)
    checker.requireInput(2, {DType::I32, {1}});
  if (!checker.hasFailed())
    checker.requireInput(0, getRows(spec.outputs[0], spec.inputs[1]));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      EmbeddingBackwardKernel{getTableShape(spec.outputs[0], spec.inputs[1])});
}

} // namespace mf
