//===- TokenRows.cpp - Rows of tokens by index ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The batches of a tensor are its leading dimensions. An index outside of the
// rows reads zeros and adds to no gradient.
//
//===----------------------------------------------------------------------===//

#include "TokenRows.h"
#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "ReduceLoops.h"
#include "Scratch.h"
#include <cstring>
#include <limits>

namespace mf {

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

namespace {

void runGatherRows(const RowShape &shape, const KernelOperands &operands,
                   ThreadPool &pool) {
  gatherRows(shape, operands.inputs[0],
             static_cast<const int32_t *>(operands.inputs[1]),
             operands.outputs[0], pool);
}

} // namespace

std::unique_ptr<Kernel> makeRowGather(const RowShape &shape) {
  return makeFunctionKernel(shape, runGatherRows);
}

namespace {

/// First the places of each row are listed in their order, a batch at a time;
/// then each row adds up its own.
class GatherRowsGradKernel : public Kernel {
public:
  explicit GatherRowsGradKernel(const RowShape &shape) : shape(shape) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const int32_t *index = static_cast<const int32_t *>(operands.inputs[1]);
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

private:
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

  RowShape shape;
};

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
  return std::make_unique<GatherRowsGradKernel>(shape);
}

} // namespace mf
