//===- Rotary.cpp - Rotary position embedding -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Pairs are halves of a row (Su et al., 2021, in the layout of GPT-NeoX and
// Llama) or neighbours.
//
//===----------------------------------------------------------------------===//

#include "Factories.h"
#include "RowLoops.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {
namespace {

/// x is [runs, sequence, dim]. The tables have the dimensions after the runs,
/// or one row for a whole sequence, and there may be a table for each element
/// of some leading dimensions.
struct RotaryShape {
  DType type, tableType;
  int64_t runs = 1, sequence = 1;
  RotaryRow row;
  /// The dimensions of which runs consist, and the distance between the tables
  /// of neighbours in each; 0 if they share one.
  std::vector<int64_t> sizes, strides;

  /// Returns the first element of the table of `run`.
  int64_t getTable(int64_t run) const {
    int64_t offset = 0;
    for (size_t i = sizes.size(); i-- > 0; run /= sizes[i])
      offset += run % sizes[i] * strides[i];
    return offset;
  }
};

/// Returns whether `table` has the trailing dimensions of `dims` before the
/// last one, or dimensions of one element, and at most as many columns.
bool isRepeated(llvm::ArrayRef<int64_t> table, llvm::ArrayRef<int64_t> dims) {
  if (table.empty() || table.size() > dims.size() || table.back() > dims.back())
    return false;
  return llvm::all_of(
      llvm::drop_end(llvm::zip_equal(table, dims.take_back(table.size()))),
      [](auto sizes) {
        auto [own, whole] = sizes;
        return own == whole || own == 1;
      });
}

/// Splits the dimensions of x into those of a table, at the end, and leading
/// ones over which tables are broadcast or for which there are several tables.
void setRuns(RotaryShape &shape, llvm::ArrayRef<int64_t> dims,
             llvm::ArrayRef<int64_t> table) {
  const int64_t columns = table.back();
  dims = dims.drop_back();
  table = table.drop_back();
  int64_t stride = columns;
  auto takeLast = [&] {
    shape.sequence *= dims.back();
    dims = dims.drop_back();
    table = table.drop_back();
  };
  if (!table.empty() && table.back() == 1 && dims.back() != 1) {
    while (!table.empty() && table.back() == 1)
      takeLast();
    shape.row.tableStep = 0;
  } else {
    for (; !table.empty() && table.back() == dims.back(); takeLast())
      stride *= dims.back();
    shape.row.tableStep = columns;
  }
  shape.sizes = dims.vec();
  shape.strides.assign(dims.size(), 0);
  for (size_t i = dims.size(); i-- > 0 && !table.empty();
       table = table.drop_back()) {
    if (table.back() == 1)
      continue;
    shape.strides[i] = stride;
    stride *= table.back();
  }
  for (int64_t size : dims)
    shape.runs *= size;
}

bool readShape(const KernelSpec &spec, SpecChecker &checker,
               RotaryShape &shape) {
  const TensorShape &x = spec.inputs[0], &cos = spec.inputs[1];
  checker.requireFloatInput(0);
  checker.require(!cos.dims.empty() && cos.dims.back() % 2 == 0,
                  "input 1 is " + toString(cos) +
                      ", expected an even last dimension");
  checker.require(cos.type == x.type || cos.type == DType::F32,
                  "input 1 is " + getName(cos.type) + ", expected f32 or " +
                      getName(x.type));
  checker.requireInput(2, cos);
  checker.requireOutput(0, x);
  if (checker.hasFailed())
    return false;
  checker.require(isRepeated(cos.dims, x.dims),
                  "input 1 is " + toString(cos) +
                      ", expected the last dimensions of " + toString(x) +
                      ", or 1 in front of the last one, and at most as many "
                      "columns");
  if (checker.hasFailed())
    return false;
  RotaryRow &row = shape.row;
  row.columns = x.dims.back();
  row.rotated = cos.dims.back();
  row.start = spec.attributes.count("start") ? checker.getInt("start") : 0;
  row.interleaved = checker.getBool("interleaved", false);
  row.backward = spec.name == "aclnnRotaryPositionEmbeddingGrad";
  checker.require(row.start >= 0 && row.start <= row.columns - row.rotated,
                  "'start' is " + llvm::Twine(row.start) + ", expected 0 to " +
                      llvm::Twine(row.columns - row.rotated));
  if (checker.hasFailed())
    return false;
  shape.type = x.type;
  shape.tableType = cos.type;
  setRuns(shape, x.dims, cos.dims);
  return true;
}

} // namespace

KernelOrError makeRotary(const KernelSpec &spec, SpecChecker &checker) {
  RotaryShape shape{};
  readShape(spec, checker, shape);
  if (llvm::Error error = checker.takeError())
    return error;
  const Tiles positions = tileRows(shape.sequence, shape.row.columns);
  const Tiles runs(shape.runs,
                   std::max<int64_t>(1, positions.size / shape.sequence));
  return makeFunctionKernel(
      [shape = std::move(shape), positions,
       runs](const KernelOperands &operands, ThreadPool &pool) {
        pool.parallelFor(runs.count * positions.count, [&](int64_t tile) {
          auto [firstRun, runCount] = runs[tile / positions.count];
          auto [begin, size] = positions[tile % positions.count];
          for (int64_t run = firstRun; run < firstRun + runCount; ++run) {
            int64_t offset = (run * shape.sequence + begin) * shape.row.columns;
            int64_t table = shape.getTable(run) + begin * shape.row.tableStep;
            runRotaryRows(shape.type, shape.tableType,
                          at(operands.inputs[0], shape.type, offset),
                          at(operands.inputs[1], shape.tableType, table),
                          at(operands.inputs[2], shape.tableType, table),
                          at(operands.outputs[0], shape.type, offset), size,
                          shape.row);
          }
        });
      });
}

} // namespace mf
