//===- Optimizer.cpp - Gradients, clipping, AdamW, running means ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "GradientFactors.h"
#include "OptimizerLoops.h"
#include "ReduceLoops.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>
#include <cmath>

namespace mf {
namespace {

struct AdamWOptions {
  double beta1 = 0, beta2 = 0, eps = 0, weightDecay = 0;
  bool biasCorrection = false;
  bool correctsEps = false;
};

/// Without bias correction this is MindSpore's AdamWeightDecay: w -= lr (m /
/// (sqrt(v) + eps) + weight_decay w). With it, it is PyTorch's AdamW
/// (Loshchilov and Hutter, 2019): w -= lr (m / (1 - beta1^t) / (sqrt(v / (1 -
/// beta2^t)) + eps) + weight_decay w). With a corrected eps, it is
/// iFlytekSpark's AdamWeightDecayX, in which (sqrt(v) + eps) / sqrt(1 -
/// beta2^t) replaces the root plus eps.
class AdamWKernel : public Kernel {
public:
  AdamWKernel(const AdamWOptions &options, DType gradientType,
              const TensorShape &weight)
      : options(options), gradientType(gradientType), weightType(weight.type),
        tiles(weight.getNumElements(), elementsPerTile) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const bool skips = operands.inputs.size() > 3 &&
                       *static_cast<const float *>(operands.inputs[3]) != 0;
    if (skips)
      return;
    AdamWCoefficients coefficients =
        getCoefficients(*static_cast<const float *>(operands.inputs[2]),
                        *static_cast<const float *>(operands.inputs[1]));
    const Factors factors(operands, /*first=*/4);
    float *m = static_cast<float *>(operands.outputs[1]);
    float *v = static_cast<float *>(operands.outputs[2]);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      runAdamWLoop(coefficients, factors, gradientType, weightType,
                   at(operands.inputs[0], gradientType, begin),
                   at(operands.outputs[0], weightType, begin), m + begin,
                   v + begin, size);
    });
  }

private:
  AdamWCoefficients getCoefficients(double learningRate, double step) const {
    double stepSize = learningRate, rootScale = 1;
    if (options.biasCorrection) {
      stepSize /= 1 - std::pow(options.beta1, step);
      rootScale = 1 / std::sqrt(1 - std::pow(options.beta2, step));
    }
    return {static_cast<float>(options.beta1),
            static_cast<float>(1 - options.beta1),
            static_cast<float>(options.beta2),
            static_cast<float>(1 - options.beta2),
            static_cast<float>(1 - learningRate * options.weightDecay),
            static_cast<float>(stepSize),
            static_cast<float>(rootScale),
            static_cast<float>(options.correctsEps ? options.eps * rootScale
                                                   : options.eps)};
  }

  AdamWOptions options;
  DType gradientType, weightType;
  Tiles tiles;
};

/// Options of the average of a parameter that PmaAdamW maintains after AdamW's
/// steps.
struct AverageOptions {
  int64_t interval = 1, fused = 1;
  float share = 0;
  bool sums = false;
};

} // namespace

KernelOrError makeInplaceAdd(const KernelSpec &spec, SpecChecker &checker) {
  DType yType = spec.outputs[0].type;
  checker.requireFloatInput(0);
  checker.requireFloatOutput(0);
  checker.requireOutput(0, {yType, spec.inputs[0].dims});
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &x = spec.inputs[0];
  return makeTiledKernel(
      Tiles(x.getNumElements(), elementsPerTile),
      [xType = x.type, yType = spec.outputs[0].type](
          const KernelOperands &operands, int64_t begin, int64_t size) {
        runAddToLoop(xType, yType, at(operands.inputs[0], xType, begin),
                     at(operands.outputs[0], yType, begin), size);
      });
}

KernelOrError makeMulScalar(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireInput(0, getScalar());
  checker.requireFloatOutput(0);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &y = spec.outputs[0];
  return makeTiledKernel(Tiles(y.getNumElements(), elementsPerTile),
                         [type = y.type](const KernelOperands &operands,
                                         int64_t begin, int64_t size) {
                           void *part = at(operands.outputs[0], type, begin);
                           runUnaryLoop(
                               UnaryOp::MulScalar, type, part, part, size,
                               *static_cast<const float *>(operands.inputs[0]));
                         });
}

KernelOrError makeNorm(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(0, getScalar());
  if (llvm::Error error = checker.takeError())
    return error;
  // The squares of blocks of fixed size are summed in f32, and then the blocks
  // in their order.
  return makeFunctionKernel(
      [type = spec.inputs[0].type,
       blocks = Tiles(spec.inputs[0].getNumElements(), elementsPerNormBlock)](
          const KernelOperands &operands, ThreadPool &pool) {
        float *sums = static_cast<float *>(operands.workspace);
        const Factors factors(operands, /*first=*/1);
        pool.parallelFor(blocks.count, [&](int64_t block) {
          auto [begin, size] = blocks[block];
          float sum = 0;
          for (int64_t i = 0; i < size; i += elementsPerSum)
            sum += runSumOfSquaresLoop(
                type, at(operands.inputs[0], type, begin + i),
                std::min(elementsPerSum, size - i), factors);
          sums[block] = sum;
        });
        double total = 0;
        for (int64_t block = 0; block < blocks.count; ++block)
          total += static_cast<double>(sums[block]);
        *static_cast<float *>(operands.outputs[0]) =
            static_cast<float>(std::sqrt(total));
      });
}

KernelOrError makeNonFiniteCheck(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  checker.requireOutput(0, getScalar());
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &x = spec.inputs[0];
  return makeFunctionKernel(
      [type = x.type, tiles = Tiles(x.getNumElements(), elementsPerTile)](
          const KernelOperands &operands, ThreadPool &pool) {
        std::atomic<bool> found{false};
        pool.parallelFor(tiles.count, [&](int64_t tile) {
          auto [begin, size] = tiles[tile];
          if (runNonFiniteLoop(type, at(operands.inputs[0], type, begin), size))
            found.store(true, std::memory_order_relaxed);
        });
        float *flag = static_cast<float *>(operands.outputs[0]);
        if (found.load())
          *flag = std::max(*flag, 1.0f);
      });
}

KernelOrError makeAdamW(const KernelSpec &spec, SpecChecker &checker) {
  AdamWOptions options;
  options.beta1 = checker.getDouble("beta1");
  options.beta2 = checker.getDouble("beta2");
  options.eps = checker.getDouble("eps");
  options.weightDecay = checker.getDouble("weight_decay");
  options.biasCorrection = checker.getBool("bias_correction", false);
  options.correctsEps = checker.getBool("corrects_eps", false);
  const TensorShape &weight = spec.outputs[0];
  checker.requireFloatInput(0);
  checker.requireFloatOutput(0);
  checker.requireInput(0, {spec.inputs[0].type, weight.dims});
  // The fourth scalar is a flag. If it is not zero, nothing is changed.
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(1, {DType::F32, weight.dims});
  checker.requireOutput(2, {DType::F32, weight.dims});
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<AdamWKernel>(options, spec.inputs[0].type,
                                       spec.outputs[0]);
}

KernelOrError makeAverageWeight(const KernelSpec &spec, SpecChecker &checker) {
  AverageOptions options;
  options.interval = checker.getInt("interval");
  options.fused = checker.getInt("fused");
  options.share = static_cast<float>(checker.getDouble("share"));
  options.sums = checker.getBool("sums", false);
  checker.require(options.interval > 0 && options.fused > 0,
                  "expected an interval and a number of fused weights of at "
                  "least 1");
  const TensorShape &weight = spec.outputs[0];
  checker.requireFloatOutput(0);
  requireScalars(checker, spec, /*first=*/0);
  checker.requireOutput(1, {DType::F32, weight.dims});
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &weights = spec.outputs[0];
  return makeTiledKernel(
      Tiles(weights.getNumElements(), elementsPerTile),
      [options, type = weights.type](const KernelOperands &operands,
                                     int64_t begin, int64_t size) {
        const auto step = static_cast<int64_t>(
            *static_cast<const float *>(operands.inputs[0]));
        if (*static_cast<const float *>(operands.inputs[1]) != 0 ||
            step % options.interval != 0)
          return;
        const bool applies = step / options.interval % options.fused == 0;
        const AverageCoefficients coefficients = {
            options.sums ? 1 : 1 - options.share,
            options.sums ? 1 : options.share,
            options.sums ? static_cast<float>(options.fused) : 1, applies};
        runAverageLoop(coefficients, type, at(operands.outputs[0], type, begin),
                       static_cast<float *>(operands.outputs[1]) + begin, size);
      });
}

KernelOrError makeTakeGradient(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(0, {DType::F32, spec.inputs[0].dims});
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &gradient = spec.inputs[0];
  return makeTiledKernel(
      Tiles(gradient.getNumElements(), elementsPerTile),
      [type = gradient.type](const KernelOperands &operands, int64_t begin,
                             int64_t size) {
        runGradientLoop(Factors(operands, /*first=*/1), type,
                        at(operands.inputs[0], type, begin),
                        static_cast<float *>(operands.outputs[0]) + begin,
                        size);
      });
}

KernelOrError makeUpdateAverage(const KernelSpec &spec, SpecChecker &checker) {
  const double decay = checker.getDouble("decay");
  const bool grows = checker.getBool("grows", false);
  const TensorShape wide = {DType::F32, spec.outputs[0].dims};
  checker.requireFloatOutput(0);
  checker.requireInput(0, wide);
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(1, wide);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &average = spec.outputs[0];
  return makeFunctionKernel(
      [decay, grows, type = average.type,
       tiles = Tiles(average.getNumElements(), elementsPerTile)](
          const KernelOperands &operands, ThreadPool &pool) {
        const bool skips = *static_cast<const float *>(operands.inputs[2]) != 0;
        const double step = *static_cast<const float *>(operands.inputs[1]);
        const double kept = grows ? 1 - std::pow(step, -decay) : decay;
        pool.parallelFor(tiles.count, [&](int64_t tile) {
          auto [begin, size] = tiles[tile];
          void *state = at(operands.outputs[0], type, begin);
          float *out = static_cast<float *>(operands.outputs[1]) + begin;
          if (skips)
            // The value may be infinite.
            return runGradientLoop({}, type, state, out, size);
          runStateLoop(static_cast<float>(kept), static_cast<float>(1 - kept),
                       type,
                       static_cast<const float *>(operands.inputs[0]) + begin,
                       state, out, size);
        });
      });
}

} // namespace mf
