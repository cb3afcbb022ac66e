//===- Largest.cpp - Largest elements over dimensions ---------------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "RowLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include "mf/Program/Signatures/KernelBlocks.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {
namespace {

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
    for (const Loop &loop : kept)
      results *= loop.size;
    for (const Loop &loop : reduced)
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
        largest = row == 0 ? own : std::max(largest, own);
      }
      runCastLoop(DType::F32, type, &largest,
                  at(operands.outputs[0], type, result), 1);
    });
  }

private:
  struct Loop {
    int64_t size, stride;
  };

  /// Where an iteration stands; the first loop is the innermost.
  static int64_t getOffset(llvm::ArrayRef<Loop> loops, int64_t iteration) {
    int64_t offset = 0;
    for (const Loop &loop : loops) {
      offset += iteration % loop.size * loop.stride;
      iteration /= loop.size;
    }
    return offset;
  }

  DType type;
  int64_t columns, results = 1, rows = 1;
  llvm::SmallVector<Loop, 4> kept, reduced;
};

} // namespace

KernelOrError makeLargest(const KernelSpec &spec) {
  SpecChecker checker(spec);
  llvm::SmallVector<bool, 4> isReduced;
  if (checker.requireTensors()) {
    const TensorShape &x = spec.inputs[0];
    const int64_t rank = x.dims.size();
    checker.requireFloatInput(0);
    const std::vector<int64_t> &axes = checker.getInts("axes");
    checker.require(rank > 0 && llvm::is_contained(axes, rank - 1),
                    "attribute 'axes' lacks the last dimension, whose rows "
                    "this kernel reads");
    for (int64_t axis : axes)
      checker.require(axis >= 0 && axis < rank,
                      "attribute 'axes' has " + llvm::Twine(axis) +
                          ", expected axes of " + llvm::Twine(rank) +
                          " dimensions");
    isReduced = getReducedDimensions(spec);
    TensorShape result{x.type, {}};
    for (int64_t i = 0; i < rank; ++i)
      if (!isReduced[i])
        result.dims.push_back(x.dims[i]);
    checker.requireOutput(0, result);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<LargestKernel>(spec.inputs[0].type,
                                         spec.inputs[0].dims, isReduced);
}

} // namespace mf
