//===- TokenOrder.cpp - Tokens in the order of their experts --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "Factories.h"
#include "TokenRows.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace mf {
namespace {

/// Orders tokens by expert, with NaN last and equal experts by place. This is a
/// total order, so any sort is stable.
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

class TokenPermuteKernel : public Kernel {
public:
  explicit TokenPermuteKernel(const RowShape &shape) : shape(shape) {}

  /// `order` has the tokens in their new order. Its inverse is the second
  /// output.
  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const float *indices = static_cast<const float *>(operands.inputs[1]);
    int32_t *sortedIndices = static_cast<int32_t *>(operands.outputs[1]);
    int32_t *order = static_cast<int32_t *>(operands.workspace);
    pool.parallelFor(shape.batches, [&](int64_t batch) {
      const int64_t first = batch * shape.rows;
      sort(indices + first, order + first);
      for (int64_t row = 0; row < shape.rows; ++row)
        sortedIndices[first + order[first + row]] = static_cast<int32_t>(row);
    });
    gatherRows(shape, operands.inputs[0], order, operands.outputs[0], pool);
  }

private:
  void sort(const float *indices, int32_t *order) const {
    std::iota(order, order + shape.rows, 0);
    const ByExpert byExpert(indices);
    // Rows that ranks have sent are in order for the most part.
    if (!std::is_sorted(order, order + shape.rows, byExpert))
      std::sort(order, order + shape.rows, byExpert);
  }

  RowShape shape;
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

KernelOrError makeTokenPermute(const KernelSpec &spec, SpecChecker &checker) {
  const RowShape shape = readTokens(spec, checker, DType::F32);
  checker.requireOutput(1, {DType::I32, spec.inputs[1].dims});
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<TokenPermuteKernel>(shape);
}

KernelOrError makeTokenUnpermute(const KernelSpec &spec, SpecChecker &checker) {
  const RowShape shape = readTokens(spec, checker, DType::I32);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowGather(shape);
}

} // namespace mf
