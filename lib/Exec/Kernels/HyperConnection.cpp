//===- HyperConnection.cpp - A site of residual streams -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HyperConnection.h"
#include "AttentionLoops.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "Scratch.h"
#include "SinkhornMatrix.h"
#include <cmath>

namespace mf {
namespace {

/// Computes the numbers of each token, and what the layer reads.
class MhcPreKernel : public Kernel {
public:
  explicit MhcPreKernel(const SiteShape &shape) : shape(shape) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const Tiles tiles = shape.getTiles();
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      SinkhornMatrix matrix(shape.count, shape.halves / 2, shape.least);
      for (int64_t token = begin; token < begin + size; ++token)
        runToken(operands, token, matrix);
    });
  }

private:
  void runToken(const KernelOperands &operands, int64_t token,
                SinkhornMatrix &matrix) const {
    const int64_t count = shape.count, width = shape.getWidth(),
                  hidden = shape.hidden, numbers = shape.getNumNumbers();
    auto getOutput = [&](size_t index, int64_t size) {
      return static_cast<float *>(operands.outputs[index]) + token * size;
    };
    auto *x = static_cast<float *>(getScratch(
        ScratchUse::Tile, (width + hidden + numbers) * sizeof(float)));
    float *result = x + width, *values = result + hidden;
    runCastLoop(shape.type, DType::F32,
                at(operands.inputs[0], shape.type, token * width), x, width);
    float *projected = getOutput(4, numbers);
    const auto *weight = static_cast<const float *>(operands.inputs[1]);
    for (int64_t i = 0; i < numbers; ++i)
      runRowProducts(DType::F32, x, weight + i * width, projected + i, 1,
                     width);
    float squares = 0;
    runRowProducts(DType::F32, x, x, &squares, 1, width);
    const float rstd =
        1 / std::sqrt(squares / static_cast<float>(width) + shape.epsilon);
    *getOutput(5, 1) = rstd;
    const auto *factors = static_cast<const float *>(operands.inputs[2]),
               *bias = static_cast<const float *>(operands.inputs[3]);
    for (int64_t i = 0; i < numbers; ++i)
      values[i] = factors[shape.getPart(i)] * (projected[i] * rstd) + bias[i];
    runUnaryLoop(UnaryOp::Sigmoid, DType::F32, values, values, 2 * count, 0);
    float *reads = getOutput(3, count), *shares = getOutput(1, count);
    std::fill(result, result + hidden, 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      reads[i] = values[i] + shape.least;
      shares[i] = 2 * values[count + i];
      addScaled(reads[i], x + i * hidden, result, hidden);
    }
    runCastLoop(DType::F32, shape.type, result,
                at(operands.outputs[0], shape.type, token * hidden), hidden);
    mix(operands, token, values + 2 * count, matrix);
  }

  /// Computes the matrix that mixes the streams, and saves what leads to it.
  void mix(const KernelOperands &operands, int64_t token, const float *values,
           SinkhornMatrix &matrix) const {
    const int64_t count = shape.count, elements = count * count,
                  tokens = shape.getNumTokens();
    auto *sums = static_cast<float *>(operands.outputs[6]) + token * count,
         *saved = static_cast<float *>(operands.outputs[7]) + token * elements;
    auto save = [&](float *target) {
      std::copy(matrix.get().begin(), matrix.get().end(), target);
    };
    std::fill(sums, sums + count, 0.0f);
    matrix.start(values);
    save(saved);
    for (int64_t i = 0; i < matrix.getNumDivisions(); ++i) {
      matrix.divide(i, sums + (i + 1) * tokens * count);
      save(saved + (i + 1) * tokens * elements);
    }
    save(static_cast<float *>(operands.outputs[2]) + token * elements);
  }

  SiteShape shape;
};

} // namespace

KernelOrError makeMhcPre(const KernelSpec &spec, SpecChecker &checker) {
  SiteShape shape;
  readStreams(spec, 0, checker.getInt("count"), checker, shape);
  const int64_t iterations = checker.getInt("iterations");
  constexpr int64_t mostIterations = 1 << 20;
  checker.require(iterations >= 0 && iterations <= mostIterations,
                  "attribute 'iterations' is not from 0 to " +
                      llvm::Twine(mostIterations));
  if (!checker.hasFailed()) {
    shape.halves = 2 * std::max<int64_t>(iterations, 1);
    shape.least = static_cast<float>(checker.getDouble("least"));
    shape.epsilon = static_cast<float>(checker.getDouble("epsilon"));
    checker.requireInput(1, shape.getWeight());
    checker.requireInput(2, {DType::F32, {3}});
    checker.requireInput(3, shape.getBias());
    checker.requireOutput(0, shape.getHidden());
    checker.requireOutput(1, shape.getShares());
    checker.requireOutput(2, shape.getMatrices());
    checker.requireOutput(3, shape.getShares());
    checker.requireOutput(4, shape.getNumbers());
    checker.requireOutput(5, shape.getRows());
    checker.requireOutput(6, shape.getSums());
    checker.requireOutput(7, shape.getSavedMatrices());
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<MhcPreKernel>(shape);
}

KernelOrError makeMhcPost(const KernelSpec &spec, SpecChecker &checker) {
  SiteShape shape;
  readMixing(spec, 0, checker, shape);
  if (!checker.hasFailed())
    checker.requireOutput(0, shape.getStreams());
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(shape.getTiles(), [shape](
                                               const KernelOperands &operands,
                                               int64_t begin, int64_t size) {
    const int64_t count = shape.count, hidden = shape.hidden,
                  width = shape.getWidth();
    auto *x = static_cast<float *>(
        getScratch(ScratchUse::Tile, (2 * width + hidden) * sizeof(float)));
    float *mixed = x + width, *output = mixed + width;
    const auto *mixing = static_cast<const float *>(operands.inputs[1]),
               *shares = static_cast<const float *>(operands.inputs[3]);
    for (int64_t token = begin; token < begin + size; ++token) {
      runCastLoop(shape.type, DType::F32,
                  at(operands.inputs[0], shape.type, token * width), x, width);
      runCastLoop(shape.type, DType::F32,
                  at(operands.inputs[2], shape.type, token * hidden), output,
                  hidden);
      std::fill(mixed, mixed + width, 0.0f);
      for (int64_t j = 0; j < count; ++j) {
        float *target = mixed + j * hidden;
        for (int64_t i = 0; i < count; ++i)
          addScaled(mixing[(token * count + i) * count + j], x + i * hidden,
                    target, hidden);
        addScaled(shares[token * count + j], output, target, hidden);
      }
      runCastLoop(DType::F32, shape.type, mixed,
                  at(operands.outputs[0], shape.type, token * width), width);
    }
  });
}

} // namespace mf
