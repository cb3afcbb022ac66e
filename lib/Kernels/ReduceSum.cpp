//===- ReduceSum.cpp - Sums over any dimensions ---------------------------===//
//
// The input is seen as alternating groups of kept and reduced dimensions. If
// the innermost group is kept, its elements are summed as vectors, one "unit" a
// row; if it is reduced, a unit is a run of consecutive elements and has one
// sum. Units are summed in order, in groups of 64; where the results are too
// few to occupy several threads, the units are cut into a fixed number of
// blocks that are summed separately.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "ReduceLoops.h"
#include "Scratch.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

namespace mf {
namespace {

struct StridedLoop {
  int64_t size, stride;
};
using StridedLoops = llvm::SmallVector<StridedLoop, 4>;

int64_t countIterations(const StridedLoops &loops) {
  int64_t count = 1;
  for (const StridedLoop &loop : loops)
    count *= loop.size;
  return count;
}

int64_t getOffset(const StridedLoops &loops, int64_t iteration) {
  int64_t offset = 0;
  for (const StridedLoop &loop : llvm::reverse(loops)) {
    offset += iteration % loop.size * loop.stride;
    iteration /= loop.size;
  }
  return offset;
}

/// The loops of a reduction, outermost first, without the innermost group.
struct ReductionShape {
  StridedLoops kept, reduced;
  int64_t inner = 1;
  bool innerIsKept = true;

  ReductionShape(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<bool> isReduced) {
    int64_t stride = 1;
    bool first = true;
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i] == 1)
        continue;
      StridedLoops &loops = isReduced[i] ? reduced : kept;
      bool joins = !first && lastIsReduced == isReduced[i];
      if (first || (joins && loops.empty())) {
        inner *= dims[i];
        innerIsKept = !isReduced[i];
      } else if (joins) {
        loops.back().size *= dims[i];
      } else {
        loops.push_back({dims[i], stride});
      }
      first = false;
      lastIsReduced = isReduced[i];
      stride *= dims[i];
    }
    std::reverse(kept.begin(), kept.end());
    std::reverse(reduced.begin(), reduced.end());
  }

private:
  bool lastIsReduced = false;
};

class ReduceSumKernel : public Kernel {
public:
  ReduceSumKernel(DType type, const ReductionShape &shape)
      : type(type), shape(shape), outer(countIterations(shape.kept)) {
    int64_t rows = countIterations(shape.reduced);
    if (shape.innerIsKept) {
      strip = std::min<int64_t>(shape.inner, shape.inner < 4096 ? 128 : 512);
      strips = llvm::divideCeil(shape.inner, strip);
      units = rows;
      results = outer * shape.inner;
      groups = outer * strips;
    } else {
      runs = llvm::divideCeil(shape.inner, elementsPerSum);
      units = rows * runs;
      strip = std::max<int64_t>(1, elementsPerTile / (rows * shape.inner));
      results = outer;
      groups = llvm::divideCeil(outer, strip);
    }
    bool worthwhile = units * shape.inner >= 4 * elementsPerTile;
    if (groups < fewGroups && results <= mostSplitResults && worthwhile)
      blocks = std::min<int64_t>(units, 16);
  }

  void run(llvm::ArrayRef<void *> inputs, llvm::ArrayRef<void *> outputs,
           ThreadPool &pool) const override {
    if (blocks == 1) {
      pool.parallelFor(groups, [&](int64_t group) {
        auto [begin, size] = getResults(group);
        float *sums = getSums(ScratchUse::Tile, size);
        sumUnits(inputs[0], group, 0, units, sums, size);
        runCastLoop(DType::F32, type, sums, at(outputs[0], type, begin), size);
      });
      return;
    }
    float *partial = getSums(ScratchUse::Kernel, blocks * results);
    Tiles unitBlocks(units, llvm::divideCeil(units, blocks));
    std::memset(partial, 0, blocks * results * sizeof(float));
    pool.parallelFor(unitBlocks.count * groups, [&](int64_t tile) {
      int64_t group = tile % groups, block = tile / groups;
      auto [begin, size] = getResults(group);
      sumUnits(inputs[0], group, unitBlocks[block].begin,
               unitBlocks[block].size, partial + block * results + begin, size);
    });
    for (int64_t block = 1; block < blocks; ++block)
      runAccumulateLoop(DType::F32, partial + block * results, partial,
                        results);
    runCastLoop(DType::F32, type, partial, outputs[0], results);
  }

private:
  static constexpr int64_t fewGroups = 16;
  static constexpr int64_t mostSplitResults = 16384;
  static constexpr int64_t unitsPerSum = 64;

  static float *getSums(ScratchUse use, int64_t count) {
    return static_cast<float *>(getScratch(use, count * sizeof(float)));
  }

  /// The results that a group of units yields.
  Tiles::Range getResults(int64_t group) const {
    if (!shape.innerIsKept)
      return Tiles(outer, strip)[group];
    auto [begin, size] = Tiles(shape.inner, strip)[group % strips];
    return {group / strips * shape.inner + begin, size};
  }

  void sumUnits(const void *x, int64_t group, int64_t begin, int64_t count,
                float *sums, int64_t size) const {
    std::memset(sums, 0, size * sizeof(float));
    if (!shape.innerIsKept) {
      for (int64_t i = 0; i < size; ++i)
        sums[i] = sumRuns(x, group * strip + i, begin, count);
      return;
    }
    int64_t base =
        getOffset(shape.kept, group / strips) + group % strips * strip;
    float *recent = getSums(ScratchUse::Sums, size);
    for (int64_t unit = begin; unit < begin + count; unit += unitsPerSum) {
      std::memset(recent, 0, size * sizeof(float));
      int64_t end = std::min(begin + count, unit + unitsPerSum);
      for (int64_t i = unit; i < end; ++i)
        runAccumulateLoop(type, at(x, type, base + getOffset(shape.reduced, i)),
                          recent, size);
      runAccumulateLoop(DType::F32, recent, sums, size);
    }
  }

  float sumRuns(const void *x, int64_t result, int64_t begin,
                int64_t count) const {
    int64_t base = getOffset(shape.kept, result);
    Tiles run(shape.inner, elementsPerSum);
    float sum = 0;
    for (int64_t unit = begin; unit < begin + count; unit += unitsPerSum) {
      float recent = 0;
      int64_t end = std::min(begin + count, unit + unitsPerSum);
      for (int64_t i = unit; i < end; ++i) {
        auto [first, size] = run[i % runs];
        int64_t offset = base + getOffset(shape.reduced, i / runs) + first;
        recent += runSumLoop(type, at(x, type, offset), size);
      }
      sum += recent;
    }
    return sum;
  }

  DType type;
  ReductionShape shape;
  /// Iterations of the kept loops; results in all.
  int64_t outer, results;
  /// Units that are added up for each result, and pieces of an inner run.
  int64_t units, runs = 1;
  /// Results of one group, groups of an inner row, and groups in all.
  int64_t strip, strips = 1, groups;
  int64_t blocks = 1;
};

} // namespace

KernelOrError makeReduceSum(const KernelSpec &spec) {
  SpecChecker checker(spec);
  llvm::SmallVector<bool, 4> isReduced;
  if (checker.requireTensors()) {
    const TensorShape &x = spec.inputs[0];
    const int64_t rank = x.dims.size();
    checker.requireFloatInput(0);
    isReduced.resize(rank);
    for (int64_t axis : checker.getInts("axes")) {
      bool fits = axis >= -rank && axis < rank;
      checker.require(fits, "attribute 'axes' has " + llvm::Twine(axis) +
                                ", expected axes of " + llvm::Twine(rank) +
                                " dimensions");
      if (fits)
        isReduced[axis < 0 ? axis + rank : axis] = true;
    }
    bool keepDims = checker.getBool("keep_dims", false);
    TensorShape result{x.type, {}};
    for (int64_t i = 0; i < rank; ++i)
      if (!isReduced[i])
        result.dims.push_back(x.dims[i]);
      else if (keepDims)
        result.dims.push_back(1);
    checker.requireOutput(0, result);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<ReduceSumKernel>(
      spec.inputs[0].type, ReductionShape(spec.inputs[0].dims, isReduced));
}

} // namespace mf
