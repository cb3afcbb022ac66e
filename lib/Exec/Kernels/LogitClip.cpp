//===- LogitClip.cpp - Weights that shrink with logits of attention -------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "GradientFactors.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>

namespace mf {
namespace {

class LogitFactorsKernel : public Kernel {
public:
  LogitFactorsKernel(double threshold, std::vector<int64_t> sizes,
                     std::vector<int64_t> roots, int64_t heads, int64_t rest)
      : threshold(static_cast<float>(threshold)), sizes(std::move(sizes)),
        roots(std::move(roots)), heads(heads), rest(rest) {}

  void run(const KernelOperands &operands, ThreadPool &) const override {
    const auto *largest = static_cast<const float *>(operands.inputs[0]);
    const bool skips = *static_cast<const float *>(operands.inputs[1]) != 0;
    auto *next = static_cast<float *>(operands.outputs[0]);
    for (int64_t head = 0; head < heads; ++head) {
      const bool isClipped = !skips && largest[head] >= threshold;
      const float scale = isClipped ? threshold / largest[head] : 1.0f;
      for (auto [size, root] : llvm::zip_equal(sizes, roots))
        next = std::fill_n(next, size, getFactor(scale, root));
    }
    std::fill_n(next, rest, 1.0f);
  }

private:
  static float getFactor(float scale, int64_t root) {
    float factor = root % 2 == 0 ? 1.0f : std::sqrt(scale);
    for (int64_t i = 0; i < root / 2; ++i)
      factor *= scale;
    return factor;
  }

  float threshold;
  std::vector<int64_t> sizes, roots;
  int64_t heads, rest;
};

} // namespace

KernelOrError makeLogitFactors(const KernelSpec &spec, SpecChecker &checker) {
  int64_t rest = 0, heads = 0;
  std::vector<int64_t> sizes, roots;
  const double threshold = checker.getDouble("threshold");
  sizes = checker.getInts("sizes");
  roots = checker.getInts("roots");
  if (spec.attributes.count("rest"))
    rest = checker.getInt("rest");
  checker.requireInputRank(0, 1);
  requireScalars(checker, spec, /*first=*/1);
  checker.require(threshold > 0, "attribute 'threshold' is not above 0");
  checker.require(sizes.size() == roots.size() &&
                      llvm::all_of(sizes, [](int64_t n) { return n > 0; }) &&
                      llvm::all_of(roots, [](int64_t n) { return n >= 0; }),
                  "attributes 'sizes' and 'roots' are not those of parts");
  if (!checker.hasFailed())
    heads = spec.inputs[0].dims[0];
  checker.requireInput(0, {DType::F32, {heads}});
  const int64_t period =
      std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  checker.requireOutput(0, {DType::F32, {heads * period + rest}});
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<LogitFactorsKernel>(threshold, std::move(sizes),
                                              std::move(roots), heads, rest);
}

KernelOrError makeScaleRows(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &weight = spec.outputs[0];
  checker.requireFloatOutput(0);
  checker.require(weight.dims.size() == 2,
                  "output 0 is " + toString(weight) + ", expected a matrix");
  if (!checker.hasFailed())
    checker.requireInput(0, {DType::F32, {weight.dims[0]}});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(
      Tiles(weight.dims[0], /*size=*/1),
      [type = weight.type, columns = weight.dims[1]](
          const KernelOperands &operands, int64_t row, int64_t) {
        const float factor =
            static_cast<const float *>(operands.inputs[0])[row];
        if (factor == 1.0f)
          return;
        void *own = at(operands.outputs[0], type, row * columns);
        runUnaryLoop(UnaryOp::MulScalar, type, own, own, columns, factor);
      });
}

} // namespace mf
