//===- Reduction.cpp - Sums and largest elements over dimensions ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Units (see ReductionCut) are summed in order, in groups of 64.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "ReduceLoops.h"
#include "RowLoops.h"
#include "Scratch.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include "mf/Program/Signatures/KernelBlocks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace mf {
namespace {

int64_t getOffset(const StridedLoops &loops, int64_t iteration) {
  int64_t offset = 0;
  for (const StridedLoop &loop : llvm::reverse(loops)) {
    offset += iteration % loop.size * loop.stride;
    iteration /= loop.size;
  }
  return offset;
}

struct ReduceSumKernel {
  DType type;
  ReductionCut cut;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    if (cut.blocks == 1) {
      pool.parallelFor(cut.groups, [&](int64_t group) {
        auto [begin, size] = getResults(group);
        float *sums = getSums(ScratchUse::Tile, size);
        sumUnits(operands.inputs[0], group, 0, cut.units, sums, size);
        runCastLoop(DType::F32, type, sums,
                    at(operands.outputs[0], type, begin), size);
      });
      return;
    }
    float *partial = static_cast<float *>(operands.workspace);
    Tiles unitBlocks(cut.units, static_cast<int64_t>(
                                    llvm::divideCeil(cut.units, cut.blocks)));
    std::memset(partial, 0, cut.blocks * cut.results * sizeof(float));
    pool.parallelFor(unitBlocks.count * cut.groups, [&](int64_t tile) {
      int64_t group = tile % cut.groups, block = tile / cut.groups;
      auto [begin, size] = getResults(group);
      sumUnits(operands.inputs[0], group, unitBlocks[block].begin,
               unitBlocks[block].size, partial + block * cut.results + begin,
               size);
    });
    for (int64_t block = 1; block < cut.blocks; ++block)
      runAccumulateLoop(DType::F32, partial + block * cut.results, partial,
                        cut.results);
    runCastLoop(DType::F32, type, partial, operands.outputs[0], cut.results);
  }

  static float *getSums(ScratchUse use, int64_t count) {
    return static_cast<float *>(getScratch(use, count * sizeof(float)));
  }

  /// Returns the part of cut.results that a group of cut.units computes.
  Tiles::Range getResults(int64_t group) const {
    if (!cut.innerIsKept)
      return Tiles(cut.outer, cut.strip)[group];
    auto [begin, size] = Tiles(cut.inner, cut.strip)[group % cut.strips];
    return {group / cut.strips * cut.inner + begin, size};
  }

  void sumUnits(const void *x, int64_t group, int64_t begin, int64_t count,
                float *sums, int64_t size) const {
    std::memset(sums, 0, size * sizeof(float));
    if (!cut.innerIsKept) {
      for (int64_t i = 0; i < size; ++i)
        sums[i] = sumRuns(x, group * cut.strip + i, begin, count);
      return;
    }
    int64_t base = getOffset(cut.kept, group / cut.strips) +
                   group % cut.strips * cut.strip;
    // Units that follow one another at a fixed distance.
    const StridedLoop row =
        cut.reduced.empty() ? StridedLoop{1, 0} : cut.reduced.back();
    float *recent = getSums(ScratchUse::Sums, size);
    for (int64_t unit = begin; unit < begin + count; unit += runsPerSum) {
      std::memset(recent, 0, size * sizeof(float));
      int64_t end = std::min(begin + count, unit + runsPerSum);
      for (int64_t i = unit; i < end;) {
        const int64_t rows = std::min(row.size - i % row.size, end - i);
        runAccumulateRowsLoop(type,
                              at(x, type, base + getOffset(cut.reduced, i)),
                              row.stride, rows, recent, size);
        i += rows;
      }
      runAccumulateLoop(DType::F32, recent, sums, size);
    }
  }

  float sumRuns(const void *x, int64_t result, int64_t begin,
                int64_t count) const {
    int64_t base = getOffset(cut.kept, result);
    Tiles run(cut.inner, elementsPerSum);
    float sum = 0;
    for (int64_t unit = begin; unit < begin + count; unit += runsPerSum) {
      float recent = 0;
      int64_t end = std::min(begin + count, unit + runsPerSum);
      for (int64_t i = unit; i < end; ++i) {
        auto [first, size] = run[i % cut.runs];
        int64_t offset = base + getOffset(cut.reduced, i / cut.runs) + first;
        recent += runSumLoop(type, at(x, type, offset), size);
      }
      sum += recent;
    }
    return sum;
  }
};

llvm::SmallVector<bool, 4> requireReduction(SpecChecker &checker,
                                            const KernelSpec &spec) {
  const TensorShape &x = spec.inputs[0];
  const auto rank = static_cast<int64_t>(x.dims.size());
  checker.requireFloatInput(0);
  for (int64_t axis : checker.getInts("axes"))
    checker.require(axis >= -rank && axis < rank,
                    "attribute 'axes' has " + llvm::Twine(axis) +
                        ", expected axes of " + llvm::Twine(rank) +
                        " dimensions");
  llvm::SmallVector<bool, 4> isReduced = getReducedDimensions(spec);
  bool keepDims = checker.getBool("keep_dims", false);
  TensorShape result{x.type, {}};
  for (int64_t i = 0; i < rank; ++i)
    if (!isReduced[i])
      result.dims.push_back(x.dims[i]);
    else if (keepDims)
      result.dims.push_back(1);
  checker.requireOutput(0, result);
  return isReduced;
}

/// Rows are runs of the last dimension, those of one result one after another.
class LargestKernel : public Kernel {
public:
  LargestKernel(DType type, llvm::ArrayRef<int64_t> dims,
                llvm::ArrayRef<bool> isReduced)
      : type(type), columns(dims.back()) {
    int64_t stride = columns;
    for (size_t i = dims.size() - 1; i-- > 0;) {
      (isReduced[i] ? reduced : kept).push_back({dims[i], stride});
      stride *= dims[i];
    }
    // Loops are listed from the outermost on.
    std::reverse(kept.begin(), kept.end());
    std::reverse(reduced.begin(), reduced.end());
    for (const StridedLoop &loop : kept)
      results *= loop.size;
    for (const StridedLoop &loop : reduced)
      rows *= loop.size;
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    pool.parallelFor(results, [&](int64_t result) {
      float largest = 0;
      for (int64_t row = 0; row < rows; ++row) {
        float own = 0;
        runRowMax(type,
                  at(operands.inputs[0], type,
                     getOffset(kept, result) + getOffset(reduced, row)),
                  &own, /*rows=*/1, columns);
        // NaN stays, wherever it is.
        if (row == 0 || own > largest || std::isnan(own))
          largest = own;
      }
      runCastLoop(DType::F32, type, &largest,
                  at(operands.outputs[0], type, result), 1);
    });
  }

private:
  DType type;
  int64_t columns, results = 1, rows = 1;
  StridedLoops kept, reduced;
};

/// Whole cache lines, and few enough that rows of experts make several strips.
constexpr int64_t sumsPerStrip = 64;

} // namespace

KernelOrError makeReduceSum(const KernelSpec &spec, SpecChecker &checker) {
  llvm::SmallVector<bool, 4> isReduced = requireReduction(checker, spec);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(ReduceSumKernel{
      spec.inputs[0].type, ReductionCut(spec.inputs[0].dims, isReduced)});
}

KernelOrError makeLargest(const KernelSpec &spec, SpecChecker &checker) {
  llvm::SmallVector<bool, 4> isReduced = requireReduction(checker, spec);
  checker.require(!isReduced.empty() && isReduced.back(),
                  "attribute 'axes' lacks the last dimension, whose rows "
                  "this kernel reads");
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<LargestKernel>(spec.inputs[0].type,
                                         spec.inputs[0].dims, isReduced);
}

KernelOrError makeCumsum(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  const int64_t axis = checker.getAxis("axis", spec.inputs[0].dims.size());
  checker.requireOutput(0, spec.inputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &x = spec.inputs[0];
  const int64_t length = x.dims[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < x.dims.size(); ++i)
    inner *= x.dims[i];
  const int64_t outer = x.getNumElements() / (length * inner);
  const Tiles strips(inner, sumsPerStrip);
  // A tile is a strip of neighbouring sums, from the first element of the axis
  // to the last; or whole rows, if the axis is the last one. Short ones are
  // grouped to be worth a thread's while.
  return makeTiledKernel(
      tileRows(outer * strips.count, length * std::min(inner, sumsPerStrip)),
      [strips, length, inner, type = x.type](const KernelOperands &operands,
                                             int64_t begin, int64_t size) {
        for (int64_t i = begin; i < begin + size; ++i) {
          auto [first, width] = strips[i % strips.count];
          const int64_t start = i / strips.count * length * inner + first;
          runCumsumLoop(type, at(operands.inputs[0], type, start),
                        at(operands.outputs[0], type, start), length, inner,
                        width);
        }
      });
}

} // namespace mf
