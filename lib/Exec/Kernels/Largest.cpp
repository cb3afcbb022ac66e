//===- Largest.cpp - Largest elements over dimensions ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "Reduction.h"
#include "RowLoops.h"
#include "Tiles.h"
#include <algorithm>
#include <cmath>

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

} // namespace

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

} // namespace mf
