//===- TokenRows.cpp - Rows of tokens by index ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The batches of a tensor are its leading dimensions. An index outside of the
// rows reads zeros and adds to no gradient.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "ReduceLoops.h"
#include "Scratch.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace mf {
namespace {

/// In each batch, `rows` rows of `width` elements, and `places` places that
/// each name one of them.
struct RowShape {
  DType type = DType::F32;
  int64_t batches = 1, rows = 1, places = 1, width = 1;

  /// Cuts `numRows` rows of each batch into tiles.
  Tiles tileAll(int64_t numRows) const {
    return tileRows(batches * numRows, width);
  }
};

RowShape readRowShape(SpecChecker &checker, const TensorShape &table,
                      const llvm::Twine &tableRole, const TensorShape &index,
                      const llvm::Twine &indexRole) {
  RowShape shape;
  shape.type = table.type;
  checker.require(table.dims.size() >= 2,
                  tableRole + " is " + toString(table) +
                      ", expected at least 2 dimensions");
  checker.require(!index.dims.empty(), indexRole + " is " + toString(index) +
                                           ", expected at least 1 dimension");
  if (checker.hasFailed())
    return shape;
  checker.require(llvm::ArrayRef(table.dims).drop_back(2) ==
                      llvm::ArrayRef(index.dims).drop_back(),
                  tableRole + " " + toString(table) + " and " + indexRole +
                      " " + toString(index) +
                      " differ in their leading dimensions");
  shape.width = table.dims.back();
  shape.rows = table.dims[table.dims.size() - 2];
  shape.places = index.dims.back();
  shape.batches = index.getNumElements() / shape.places;
  checker.require(shape.places <= std::numeric_limits<int32_t>::max(),
                  indexRole + " is " + toString(index) +
                      ", expected a last dimension that i32 can count");
  return shape;
}

TensorShape getPlacedRows(const RowShape &shape, const TensorShape &index) {
  TensorShape rows{shape.type, index.dims};
  rows.dims.push_back(shape.width);
  return rows;
}

void gatherRows(const RowShape &shape, const void *from, const int32_t *index,
                void *to, ThreadPool &pool) {
  const size_t rowBytes = shape.width * getBytes(shape.type);
  const Tiles tiles = shape.tileAll(shape.places);
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, size] = tiles[tile];
    for (int64_t place = begin; place < begin + size; ++place) {
      void *out = at(to, shape.type, place * shape.width);
      const int64_t row = index[place], batch = place / shape.places;
      if (row >= 0 && row < shape.rows)
        std::memcpy(
            out, at(from, shape.type, (batch * shape.rows + row) * shape.width),
            rowBytes);
      else
        std::memset(out, 0, rowBytes);
    }
  });
}

void runGatherRows(const RowShape &shape, const KernelOperands &operands,
                   ThreadPool &pool) {
  gatherRows(shape, operands.inputs[0], operands.getInput<int32_t>(1),
             operands.outputs[0], pool);
}

std::unique_ptr<Kernel> makeRowGather(const RowShape &shape) {
  return makeFunctionKernel(shape, runGatherRows);
}

/// First the places of each row are listed in their order, a batch at a time;
/// then each row adds up its own.
struct GatherRowsGradKernel {
  RowShape shape;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const auto *index = operands.getInput<int32_t>(1);
    int32_t *lists = static_cast<int32_t *>(operands.workspace);
    const int64_t listSize = shape.rows + 1 + shape.places;
    pool.parallelFor(shape.batches, [&](int64_t batch) {
      listPlaces(index + batch * shape.places, lists + batch * listSize);
    });
    const Tiles tiles = shape.tileAll(shape.rows);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      for (int64_t row = begin; row < begin + size; ++row) {
        const int64_t batch = row / shape.rows;
        addRow(at(operands.inputs[0], shape.type,
                  batch * shape.places * shape.width),
               lists + batch * listSize, row % shape.rows,
               at(operands.outputs[0], shape.type, row * shape.width));
      }
    });
  }

  /// `list` becomes the ends of the rows' lists among the places that follow.
  /// While these are filled, an end is the position of the next place.
  void listPlaces(const int32_t *index, int32_t *list) const {
    int32_t *ends = list + 1, *places = ends + shape.rows;
    std::memset(list, 0, (shape.rows + 1) * sizeof(int32_t));
    auto isRow = [&](int32_t row) { return row >= 0 && row < shape.rows; };
    for (int64_t place = 0; place < shape.places; ++place)
      if (isRow(index[place]) && index[place] + 1 < shape.rows)
        ++ends[index[place] + 1];
    for (int64_t row = 1; row < shape.rows; ++row)
      ends[row] += ends[row - 1];
    for (int64_t place = 0; place < shape.places; ++place)
      if (isRow(index[place]))
        places[ends[index[place]]++] = static_cast<int32_t>(place);
  }

  void addRow(const void *gradients, const int32_t *list, int64_t row,
              void *to) const {
    const int32_t *places = list + shape.rows + 1;
    float *sums = static_cast<float *>(
        shape.type == DType::F32
            ? to
            : getScratch(ScratchUse::Tile, shape.width * sizeof(float)));
    std::memset(sums, 0, shape.width * sizeof(float));
    for (int64_t i = list[row]; i < list[row + 1]; ++i)
      runAccumulateLoop(shape.type,
                        at(gradients, shape.type, places[i] * shape.width),
                        sums, shape.width);
    if (shape.type != DType::F32)
      runCastLoop(DType::F32, shape.type, sums, to, shape.width);
  }
};

/// Orders tokens by expert, with NaN last and equal experts by position. This
/// is a total order, so any sort is stable.
class ByExpert {
public:
  explicit ByExpert(const float *indices) : indices(indices) {}

  bool operator()(int32_t a, int32_t b) const {
    const float x = indices[a], y = indices[b];
    if (x < y || y < x)
      return x < y;
    const bool xIsNan = std::isnan(x), yIsNan = std::isnan(y);
    return xIsNan == yIsNan ? a < b : yIsNan;
  }

private:
  const float *indices;
};

struct TokenPermuteKernel {
  RowShape shape;

  /// `order` has the tokens in their new order. Its inverse is the second
  /// output.
  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const auto *indices = operands.getInput<float>(1);
    auto *sortedIndices = operands.getOutput<int32_t>(1);
    int32_t *order = static_cast<int32_t *>(operands.workspace);
    pool.parallelFor(shape.batches, [&](int64_t batch) {
      const int64_t first = batch * shape.rows;
      sort(indices + first, order + first);
      for (int64_t row = 0; row < shape.rows; ++row)
        sortedIndices[first + order[first + row]] = static_cast<int32_t>(row);
    });
    gatherRows(shape, operands.inputs[0], order, operands.outputs[0], pool);
  }

  void sort(const float *indices, int32_t *order) const {
    std::iota(order, order + shape.rows, 0);
    const ByExpert byExpert(indices);
    // Rows that ranks have sent are in order for the most part.
    if (!std::is_sorted(order, order + shape.rows, byExpert))
      std::sort(order, order + shape.rows, byExpert);
  }
};

/// Reads tokens, and an index with an entry for each token.
RowShape readTokens(const KernelSpec &spec, SpecChecker &checker,
                    DType indexType) {
  RowShape shape;
  checker.requireFloatInput(0);
  checker.requireInputType(1, indexType);
  shape = readRowShape(checker, spec.inputs[0], "input 0", spec.inputs[1],
                       "input 1");
  if (checker.hasFailed())
    return shape;
  checker.require(shape.places == shape.rows,
                  "input 1 is " + toString(spec.inputs[1]) +
                      ", expected one for each of " + llvm::Twine(shape.rows) +
                      " tokens");
  checker.requireOutput(0, spec.inputs[0]);
  return shape;
}

} // namespace

KernelOrError makeGatherRows(const KernelSpec &spec, SpecChecker &checker) {
  RowShape shape;
  checker.requireInputType(1, DType::I32);
  shape = readRowShape(checker, spec.inputs[0], "input 0", spec.inputs[1],
                       "input 1");
  if (!checker.hasFailed())
    checker.requireOutput(0, getPlacedRows(shape, spec.inputs[1]));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowGather(shape);
}

KernelOrError makeGatherRowsGrad(const KernelSpec &spec, SpecChecker &checker) {
  RowShape shape;
  checker.requireFloatInput(0);
  checker.requireInputType(1, DType::I32);
  shape = readRowShape(checker, spec.outputs[0], "output 0", spec.inputs[1],
                       "input 1");
  if (!checker.hasFailed())
    checker.requireInput(0, getPlacedRows(shape, spec.inputs[1]));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(GatherRowsGradKernel{shape});
}

KernelOrError makeTokenPermute(const KernelSpec &spec, SpecChecker &checker) {
  const RowShape shape = readTokens(spec, checker, DType::F32);
  checker.requireOutput(1, {DType::I32, spec.inputs[1].dims});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(TokenPermuteKernel{shape});
}

KernelOrError makeTokenUnpermute(const KernelSpec &spec, SpecChecker &checker) {
  const RowShape shape = readTokens(spec, checker, DType::I32);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowGather(shape);
}

} // namespace mf
