//===- ElementIndexing.cpp - Elements of rows by index --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Indexing along the last dimension. An index outside of a row reads zero and
// writes nothing.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "Scratch.h"
#include "Tiles.h"
#include <cstring>

namespace mf {
namespace {

/// Rows of `columns` elements, with `choices` indices for each row.
struct IndexedShape {
  DType type;
  int64_t rows, columns, choices;

  bool has(int32_t index) const { return index >= 0 && index < columns; }
  Tiles cut() const { return tileRows(rows, std::max(columns, choices)); }
};

struct GatherKernel {
  IndexedShape shape;
  Tiles tiles = tileRows(shape.rows, shape.choices);

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      switch (getBytes(shape.type)) {
      case sizeof(uint16_t):
        return gather<uint16_t>(operands, tiles[tile]);
      case sizeof(uint32_t):
        return gather<uint32_t>(operands, tiles[tile]);
      default:
        return gather<uint64_t>(operands, tiles[tile]);
      }
    });
  }

  template <typename Bits>
  void gather(const KernelOperands &operands, Tiles::Range range) const {
    const auto *x = operands.getInput<Bits>(0);
    const auto *indices = operands.getInput<int32_t>(1);
    auto *y = operands.getOutput<Bits>(0);
    for (int64_t row = range.begin; row < range.begin + range.size; ++row)
      for (int64_t i = row * shape.choices; i < (row + 1) * shape.choices; ++i)
        y[i] = shape.has(indices[i]) ? x[row * shape.columns + indices[i]]
                                     : Bits();
  }
};

/// Sums are in f32 and rounded once.
struct ScatterElementsKernel {
  IndexedShape shape;
  Tiles tiles = shape.cut();

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      for (int64_t row = begin; row < begin + size; ++row)
        scatterRow(operands, row);
    });
  }

  void scatterRow(const KernelOperands &operands, int64_t row) const {
    const auto *indices = operands.getInput<int32_t>(1) + row * shape.choices;
    const void *x = at(operands.inputs[0], shape.type, row * shape.choices);
    void *y = at(operands.outputs[0], shape.type, row * shape.columns);
    if (shape.type == DType::F32)
      return addAll(static_cast<const float *>(x), indices,
                    static_cast<float *>(y));
    auto *sums = static_cast<float *>(getScratch(
        ScratchUse::Tile, (shape.columns + shape.choices) * sizeof(float)));
    float *wide = sums + shape.columns;
    runCastLoop(shape.type, DType::F32, x, wide, shape.choices);
    addAll(wide, indices, sums);
    runCastLoop(DType::F32, shape.type, sums, y, shape.columns);
  }

  void addAll(const float *x, const int32_t *indices, float *sums) const {
    std::memset(sums, 0, shape.columns * sizeof(float));
    for (int64_t i = 0; i < shape.choices; ++i)
      if (shape.has(indices[i]))
        sums[indices[i]] += x[i];
  }
};

/// Requires that `rows` [.., columns] and `indices` [.., choices] differ only
/// in the last dimension.
void requireIndexed(SpecChecker &checker, const TensorShape &rows,
                    const llvm::Twine &role, const TensorShape &indices) {
  if (checker.hasFailed())
    return;
  TensorShape expected = rows;
  if (!expected.dims.empty() && !indices.dims.empty())
    expected.dims.back() = indices.dims.back();
  checker.require(!rows.dims.empty() && expected.dims == indices.dims,
                  role + " is " + toString(rows) +
                      ", expected the leading dimensions of the indices, " +
                      toString(indices));
}

IndexedShape getIndexedShape(const TensorShape &rows,
                             const TensorShape &indices) {
  const int64_t columns = rows.dims.back();
  return {rows.type, rows.getNumElements() / columns, columns,
          indices.dims.back()};
}

} // namespace

KernelOrError makeGather(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &x = spec.inputs[0], &indices = spec.inputs[1];
  checker.requireInputType(1, DType::I32);
  requireIndexed(checker, x, "input 0", indices);
  checker.requireOutput(0, {x.type, indices.dims});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      GatherKernel{getIndexedShape(spec.inputs[0], spec.inputs[1])});
}

KernelOrError makeScatterElements(const KernelSpec &spec,
                                  SpecChecker &checker) {
  const TensorShape &x = spec.inputs[0], &indices = spec.inputs[1];
  checker.requireFloatInput(0);
  checker.requireInputType(1, DType::I32);
  checker.requireInput(0, {x.type, indices.dims});
  checker.requireOutputType(0, x.type);
  requireIndexed(checker, spec.outputs[0], "output 0", indices);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      ScatterElementsKernel{getIndexedShape(spec.outputs[0], spec.inputs[1])});
}

KernelOrError makeOneHot(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &y = spec.outputs[0];
  checker.requireInputType(0, DType::I32);
  checker.requireFloatOutput(0);
  TensorShape expected{y.type, spec.inputs[0].dims};
  expected.dims.push_back(y.dims.empty() ? 1 : y.dims.back());
  checker.requireOutput(0, expected);
  if (llvm::Error error = checker.takeError())
    return error;
  const IndexedShape shape = {y.type, spec.inputs[0].getNumElements(),
                              y.dims.back(), 1};
  // 1 in the type of the output, in the first bytes.
  uint32_t one = 0;
  const float wide = 1;
  runCastLoop(DType::F32, y.type, &wide, &one, 1);
  return makeTiledKernel(
      shape.cut(), [shape, one](const KernelOperands &operands, int64_t begin,
                                int64_t size) {
        const auto *indices = operands.getInput<int32_t>(0);
        const size_t bytes = getBytes(shape.type);
        std::memset(at(operands.outputs[0], shape.type, begin * shape.columns),
                    0, size * shape.columns * bytes);
        for (int64_t row = begin; row < begin + size; ++row)
          if (shape.has(indices[row]))
            std::memcpy(at(operands.outputs[0], shape.type,
                           row * shape.columns + indices[row]),
                        &one, bytes);
      });
}

} // namespace mf
