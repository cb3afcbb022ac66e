//===- Optimizer.cpp - Gradients, clipping, AdamW, Muon, running means ----===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "OptimizerLoops.h"
#include "ReduceLoops.h"
#include "SpecChecker.h"
#include "mf/Program/Signatures/KernelSequence.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

namespace mf {
namespace {

/// The factors of gradients: a kernel's inputs from `first` on.
class Factors {
public:
  Factors(const KernelOperands &operands, size_t first) {
    for (size_t i = first; i < operands.inputs.size(); ++i)
      values.push_back(*operands.getInput<float>(i));
  }

  operator llvm::ArrayRef<float>() const { return values; }

private:
  llvm::SmallVector<float, 2> values;
};

TensorShape getScalar() { return {DType::F32, {}}; }

void requireScalars(SpecChecker &checker, const KernelSpec &spec,
                    size_t first) {
  for (size_t i = first; i < spec.inputs.size(); ++i)
    checker.requireInput(i, getScalar());
}

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
struct AdamWKernel {
  AdamWOptions options;
  DType gradientType, weightType;
  Tiles tiles;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const bool skips =
        operands.inputs.size() > 3 && *operands.getInput<float>(3) != 0;
    if (skips)
      return;
    AdamWCoefficients coefficients = getCoefficients(
        *operands.getInput<float>(2), *operands.getInput<float>(1));
    const Factors factors(operands, /*first=*/4);
    auto *m = operands.getOutput<float>(1);
    auto *v = operands.getOutput<float>(2);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      runAdamWLoop(coefficients, factors, gradientType, weightType,
                   at(operands.inputs[0], gradientType, begin),
                   at(operands.outputs[0], weightType, begin), m + begin,
                   v + begin, size);
    });
  }

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
                           runUnaryLoop(UnaryOp::MulScalar, type, part, part,
                                        size, *operands.getInput<float>(0));
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
        *operands.getOutput<float>(0) = static_cast<float>(std::sqrt(total));
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
        auto *flag = operands.getOutput<float>(0);
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
  return makeFunctionKernel(
      AdamWKernel{options, spec.inputs[0].type, weight.type,
                  Tiles(weight.getNumElements(), elementsPerTile)});
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
        const auto step = static_cast<int64_t>(*operands.getInput<float>(0));
        if (*operands.getInput<float>(1) != 0 || step % options.interval != 0)
          return;
        const bool applies = step / options.interval % options.fused == 0;
        const AverageCoefficients coefficients = {
            options.sums ? 1 : 1 - options.share,
            options.sums ? 1 : options.share,
            options.sums ? static_cast<float>(options.fused) : 1, applies};
        runAverageLoop(coefficients, type, at(operands.outputs[0], type, begin),
                       operands.getOutput<float>(1) + begin, size);
      });
}

KernelOrError makeTakeGradient(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(0, {DType::F32, spec.inputs[0].dims});
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &gradient = spec.inputs[0];
  return makeTiledKernel(Tiles(gradient.getNumElements(), elementsPerTile),
                         [type = gradient.type](const KernelOperands &operands,
                                                int64_t begin, int64_t size) {
                           runGradientLoop(Factors(operands, /*first=*/1), type,
                                           at(operands.inputs[0], type, begin),
                                           operands.getOutput<float>(0) + begin,
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
        const bool skips = *operands.getInput<float>(2) != 0;
        const double step = *operands.getInput<float>(1);
        const double kept = grows ? 1 - std::pow(step, -decay) : decay;
        pool.parallelFor(tiles.count, [&](int64_t tile) {
          auto [begin, size] = tiles[tile];
          void *state = at(operands.outputs[0], type, begin);
          auto *out = operands.getOutput<float>(1) + begin;
          if (skips)
            // The value may be infinite.
            return runGradientLoop({}, type, state, out, size);
          runStateLoop(static_cast<float>(kept), static_cast<float>(1 - kept),
                       type, operands.getInput<float>(0) + begin, state, out,
                       size);
        });
      });
}

//===----------------------------------------------------------------------===//
// What Muon does with parameters and momenta
//===----------------------------------------------------------------------===//

KernelOrError makeMomentum(const KernelSpec &spec, SpecChecker &checker) {
  MomentumCoefficients coefficients{};
  coefficients.momentum = static_cast<float>(checker.getDouble("momentum"));
  coefficients.isNesterov = checker.getBool("nesterov", false);
  const TensorShape &directions = spec.outputs[1];
  checker.requireFloatInput(0);
  checker.requireFloatOutput(1);
  checker.requireInput(0, {spec.inputs[0].type, directions.dims});
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(0, {DType::F32, directions.dims});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(
      Tiles(directions.getNumElements(), elementsPerTile),
      [coefficients, gradientType = spec.inputs[0].type,
       directionType = directions.type](const KernelOperands &operands,
                                        int64_t begin, int64_t size) {
        const bool skips = *operands.getInput<float>(1) != 0;
        void *direction = at(operands.outputs[1], directionType, begin);
        if (skips)
          std::memset(direction, 0, getBytes(directionType, size));
        else
          runMomentumLoop(
              coefficients, Factors(operands, /*first=*/2), gradientType,
              directionType, at(operands.inputs[0], gradientType, begin),
              operands.getOutput<float>(0) + begin, direction, size);
      });
}

KernelOrError makeTakeStep(const KernelSpec &spec, SpecChecker &checker) {
  const double scale = checker.getDouble("scale");
  const double weightDecay = checker.getDouble("weight_decay");
  const TensorShape &weight = spec.outputs[0];
  checker.requireFloatInput(0);
  checker.requireFloatOutput(0);
  checker.requireInput(0, {spec.inputs[0].type, weight.dims});
  requireScalars(checker, spec, /*first=*/1);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(
      Tiles(weight.getNumElements(), elementsPerTile),
      [scale, weightDecay, directionType = spec.inputs[0].type,
       weightType = weight.type](const KernelOperands &operands, int64_t begin,
                                 int64_t size) {
        if (*operands.getInput<float>(2) != 0)
          return;
        const double rate = *operands.getInput<float>(1);
        runStepLoop(static_cast<float>(1 - rate * weightDecay),
                    static_cast<float>(rate * scale), directionType, weightType,
                    at(operands.inputs[0], directionType, begin),
                    at(operands.outputs[0], weightType, begin), size);
      });
}

//===----------------------------------------------------------------------===//
// Nearly orthogonal matrices
//
// Runs kernels one after another, whose bits do not depend on threads.
//===----------------------------------------------------------------------===//

KernelOrError makeNewtonSchulz(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &matrices = spec.inputs[0];
  const size_t numbers = checker.getDoubles("coefficients").size();
  checker.require(matrices.dims.size() == 3 && (matrices.type == DType::BF16 ||
                                                matrices.type == DType::F16),
                  "input 0 is " + toString(matrices) +
                      ", expected experts x rows x columns in bf16 or f16");
  checker.require(numbers > 0 && numbers % 3 == 0,
                  "attribute 'coefficients' has " + llvm::Twine(numbers) +
                      " numbers, expected three for each iteration");
  checker.requireOutput(0, matrices);
  if (llvm::Error error = checker.takeError())
    return error;
  std::vector<std::pair<SequencedKernel, std::unique_ptr<Kernel>>> members;
  for (SequencedKernel &place : getNewtonSchulzSequence(spec)) {
    auto kernel = makeKernel(place.spec);
    if (!kernel)
      return kernel.takeError();
    members.emplace_back(std::move(place), std::move(*kernel));
  }
  return makeFunctionKernel([members = std::move(members)](
                                const KernelOperands &operands,
                                ThreadPool &pool) {
    auto *workspace = static_cast<char *>(operands.workspace);
    auto find = [&](const SequencePlace &place) -> void * {
      switch (place.memory) {
      case SequencePlace::Memory::Input:
        return operands.inputs[0];
      case SequencePlace::Memory::Output:
        return operands.outputs[0];
      case SequencePlace::Memory::Workspace:
        return workspace + place.offset;
      }
      llvm_unreachable("covers all memories");
    };
    for (const auto &[place, kernel] : members) {
      const auto inputs = llvm::map_to_vector(place.inputs, find);
      void *output = find(place.output);
      kernel->run({inputs, output, workspace + place.workspaceOffset}, pool);
    }
  });
}

//===----------------------------------------------------------------------===//
// Weights that shrink with logits of attention
//===----------------------------------------------------------------------===//

static float getLogitFactor(float scale, int64_t root) {
  float factor = root % 2 == 0 ? 1.0f : std::sqrt(scale);
  for (int64_t i = 0; i < root / 2; ++i)
    factor *= scale;
  return factor;
}

KernelOrError makeLogitFactors(const KernelSpec &spec, SpecChecker &checker) {
  int64_t rest = 0, heads = 0;
  const double threshold = checker.getDouble("threshold");
  const std::vector<int64_t> &sizes = checker.getInts("sizes");
  const std::vector<int64_t> &roots = checker.getInts("roots");
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
  return makeFunctionKernel([=, threshold = static_cast<float>(threshold)](
                                const KernelOperands &operands, ThreadPool &) {
    const auto *largest = operands.getInput<float>(0);
    const bool skips = *operands.getInput<float>(1) != 0;
    auto *next = operands.getOutput<float>(0);
    for (int64_t head = 0; head < heads; ++head) {
      const bool isClipped = !skips && largest[head] >= threshold;
      const float scale = isClipped ? threshold / largest[head] : 1.0f;
      for (auto [size, root] : llvm::zip_equal(sizes, roots))
        next = std::fill_n(next, size, getLogitFactor(scale, root));
    }
    std::fill_n(next, rest, 1.0f);
  });
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
        const float factor = operands.getInput<float>(0)[row];
        if (factor == 1.0f)
          return;
        void *own = at(operands.outputs[0], type, row * columns);
        runUnaryLoop(UnaryOp::MulScalar, type, own, own, columns, factor);
      });
}

} // namespace mf
