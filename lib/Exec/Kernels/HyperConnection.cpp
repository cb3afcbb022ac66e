//===- HyperConnection.cpp - A site of residual streams -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AttentionLoops.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "ReduceLoops.h"
#include "Scratch.h"
#include "SinkhornMatrix.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <cmath>

namespace mf {
namespace {

/// The sizes of the two parts of a site. The streams of a token are side by
/// side in one row.
struct SiteShape {
  DType type = DType::F32;
  /// The streams, and the elements of each.
  int64_t count = 1, hidden = 1;
  int64_t batch = 1, length = 1;
  /// The halves of iterations, which are saved one behind the other.
  int64_t halves = 2;
  float least = 0, epsilon = 0;

  int64_t getNumTokens() const { return batch * length; }
  int64_t getWidth() const { return count * hidden; }
  int64_t getNumNumbers() const { return count * (count + 2); }
  /// Returns the factor of a token's number: that of reads, shares or matrices.
  int64_t getPart(int64_t number) const {
    return std::min<int64_t>(number / count, 2);
  }
  /// Returns the tiles of tokens that are computed independently.
  Tiles getTiles() const { return tileRows(getNumTokens(), getWidth()); }

  TensorShape getStreams() const { return {type, {batch, length, getWidth()}}; }
  TensorShape getHidden() const { return {type, {batch, length, hidden}}; }
  TensorShape getWeight() const {
    return {DType::F32, {getNumNumbers(), getWidth()}};
  }
  TensorShape getBias() const { return {DType::F32, {getNumNumbers()}}; }
  TensorShape getRows() const { return {DType::F32, {batch, length}}; }
  TensorShape getShares() const { return {DType::F32, {batch, length, count}}; }
  TensorShape getNumbers() const {
    return {DType::F32, {batch, length, getNumNumbers()}};
  }
  TensorShape getMatrices() const {
    return {DType::F32, {batch, length, count, count}};
  }
  TensorShape getSums() const {
    return {DType::F32, {halves, batch, length, count}};
  }
  TensorShape getSavedMatrices() const {
    return {DType::F32, {halves, batch, length, count, count}};
  }
  /// Returns what backward reads of forward: the last results of MhcPre, which
  /// are the last operands of MhcPreBackward.
  std::array<TensorShape, 5> getSaved() const {
    return {getShares(), getNumbers(), getRows(), getSums(),
            getSavedMatrices()};
  }
};

/// Reads the sizes of streams, input `index`, of which there are `count`.
void readStreams(const KernelSpec &spec, size_t index, int64_t count,
                 SpecChecker &checker, SiteShape &shape) {
  checker.requireFloatInput(index);
  checker.requireInputRank(index, 3);
  if (checker.hasFailed())
    return;
  const TensorShape &streams = spec.inputs[index];
  checker.require(streams.dims.size() == 3 && count >= 1 &&
                      streams.dims.back() % count == 0,
                  "input " + llvm::Twine(index) + " is " + toString(streams) +
                      ", expected [batch, sequence, streams * hidden] of " +
                      llvm::Twine(count) + " streams");
  if (checker.hasFailed())
    return;
  shape.type = streams.type;
  shape.count = count;
  shape.hidden = streams.dims.back() / count;
  shape.batch = streams.dims[0];
  shape.length = streams.dims[1];
}

/// Reads what mixes streams: the streams, the matrices, the layer's result and
/// its shares, which are inputs in this order from `first` on.
void readMixing(const KernelSpec &spec, size_t first, SpecChecker &checker,
                SiteShape &shape) {
  checker.requireInputRank(first + 3, 1);
  if (!checker.hasFailed())
    readStreams(spec, first, spec.inputs[first + 3].dims.back(), checker,
                shape);
  if (!checker.hasFailed()) {
    checker.requireInput(first + 1, shape.getMatrices());
    checker.requireInput(first + 2, shape.getHidden());
    checker.requireInput(first + 3, shape.getShares());
  }
}

/// Calls `run(token, matrix)` for each token. Tokens of a tile share the
/// matrix.
template <typename Function>
void runTokens(const SiteShape &shape, ThreadPool &pool, Function run) {
  const Tiles tiles = shape.getTiles();
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, size] = tiles[tile];
    SinkhornMatrix matrix(shape.count, shape.halves / 2, shape.least);
    for (int64_t token = begin; token < begin + size; ++token)
      run(token, matrix);
  });
}

/// Computes the numbers of each token, and what the layer reads.
struct MhcPreKernel {
  SiteShape shape;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    runTokens(shape, pool, [&](int64_t token, SinkhornMatrix &matrix) {
      runToken(operands, token, matrix);
    });
  }

  void runToken(const KernelOperands &operands, int64_t token,
                SinkhornMatrix &matrix) const {
    const int64_t count = shape.count, width = shape.getWidth(),
                  hidden = shape.hidden, numbers = shape.getNumNumbers();
    auto getOutput = [&](size_t index, int64_t size) {
      return operands.getOutput<float>(index) + token * size;
    };
    auto *x = static_cast<float *>(getScratch(
        ScratchUse::Tile, (width + hidden + numbers) * sizeof(float)));
    float *result = x + width, *values = result + hidden;
    runCastLoop(shape.type, DType::F32,
                at(operands.inputs[0], shape.type, token * width), x, width);
    float *projected = getOutput(4, numbers);
    const auto *weight = operands.getInput<float>(1);
    for (int64_t i = 0; i < numbers; ++i)
      runRowProducts(DType::F32, x, weight + i * width, projected + i, 1,
                     width);
    float squares = 0;
    runRowProducts(DType::F32, x, x, &squares, 1, width);
    const float rstd =
        1 / std::sqrt(squares / static_cast<float>(width) + shape.epsilon);
    *getOutput(5, 1) = rstd;
    const auto *factors = operands.getInput<float>(2),
               *bias = operands.getInput<float>(3);
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
    auto *sums = operands.getOutput<float>(6) + token * count,
         *saved = operands.getOutput<float>(7) + token * elements;
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
    save(operands.getOutput<float>(2) + token * elements);
  }
};

/// The gradients of parameters are sums over all tokens, of which each column
/// of the weight is computed by itself.
struct MhcPreBackwardKernel {
  SiteShape shape;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    runTokens(shape, pool, [&](int64_t token, SinkhornMatrix &matrix) {
      runToken(operands, token, matrix);
    });
    const Tiles columns(shape.getWidth(), columnsPerTile);
    pool.parallelFor(columns.count, [&](int64_t tile) {
      sumWeight(operands, columns[tile].begin, columns[tile].size);
    });
    sumFactors(operands);
  }

  static constexpr int64_t columnsPerTile = 512, tokensPerSum = 64;

  /// The inputs of the kernel, in their order.
  enum Input {
    ResultGradient,
    SharesGradient,
    MixingGradient,
    Streams,
    Weight,
    Factors,
    Bias,
    Reads,
    Projected,
    Rstd,
    Sums,
    Matrices
  };

  static const float *get(const KernelOperands &operands, Input input) {
    return operands.getInput<float>(input);
  }
  float getFactor(const KernelOperands &operands, int64_t number) const {
    return get(operands, Factors)[shape.getPart(number)];
  }
  /// Returns the gradients of a token's numbers behind factor and bias.
  float *getNumberGradients(const KernelOperands &operands,
                            int64_t token) const {
    return static_cast<float *>(operands.workspace) +
           token * shape.getNumNumbers();
  }

  /// Computes the gradients of a token's numbers and streams.
  void runToken(const KernelOperands &operands, int64_t token,
                SinkhornMatrix &matrix) const {
    const int64_t count = shape.count, width = shape.getWidth(),
                  hidden = shape.hidden, numbers = shape.getNumNumbers();
    auto *x = static_cast<float *>(
        getScratch(ScratchUse::Tile, (2 * width + hidden) * sizeof(float)));
    float *dx = x + width, *dy = dx + width;
    runCastLoop(shape.type, DType::F32,
                at(operands.inputs[Streams], shape.type, token * width), x,
                width);
    runCastLoop(shape.type, DType::F32,
                at(operands.inputs[ResultGradient], shape.type, token * hidden),
                dy, hidden);
    std::fill(dx, dx + width, 0.0f);
    float *gradients = getNumberGradients(operands, token);
    for (int64_t i = 0; i < count; ++i) {
      const float read = get(operands, Reads)[token * count + i],
                  gate = read - shape.least;
      runRowProducts(DType::F32, x + i * hidden, dy, gradients + i, 1, hidden);
      gradients[i] *= gate * (1 - gate);
      addScaled(read, dy, dx + i * hidden, hidden);
    }
    // The share is not among the inputs, but its number is.
    const float rstd = get(operands, Rstd)[token];
    const float *projected = get(operands, Projected) + token * numbers;
    float *gates = gradients + count;
    for (int64_t i = 0; i < count; ++i)
      gates[i] =
          getFactor(operands, count + i) * (projected[count + i] * rstd) +
          get(operands, Bias)[count + i];
    runUnaryLoop(UnaryOp::Sigmoid, DType::F32, gates, gates, count, 0);
    for (int64_t i = 0; i < count; ++i)
      gates[i] = get(operands, SharesGradient)[token * count + i] * 2 *
                 (gates[i] * (1 - gates[i]));
    unmix(operands, token, gradients + 2 * count, matrix);
    // Back through the projection and through the norm.
    float rstdGradient = 0;
    for (int64_t i = 0; i < numbers; ++i) {
      const float gradient = gradients[i] * getFactor(operands, i);
      rstdGradient += gradient * projected[i];
      addScaled(gradient * rstd, get(operands, Weight) + i * width, dx, width);
    }
    addScaled(-rstdGradient * rstd * rstd * rstd / static_cast<float>(width), x,
              dx, width);
    runCastLoop(DType::F32, shape.type, dx,
                at(operands.outputs[0], shape.type, token * width), width);
  }

  /// Computes the gradient of the numbers of the mixing matrix.
  void unmix(const KernelOperands &operands, int64_t token, float *gradients,
             SinkhornMatrix &matrix) const {
    const int64_t elements = matrix.getNumElements(),
                  tokens = shape.getNumTokens();
    const float *saved = get(operands, Matrices) + token * elements,
                *sums = get(operands, Sums) + token * shape.count;
    matrix.restart(saved);
    matrix.startBackward(get(operands, MixingGradient) + token * elements);
    for (int64_t i = matrix.getNumDivisions(); i-- > 0;)
      matrix.undo(i, saved + (i + 1) * tokens * elements,
                  sums + (i + 1) * tokens * shape.count);
    matrix.finishBackward(gradients);
  }

  /// Sums up the gradients of a range of the weight's columns, over a fixed
  /// number of tokens at a time.
  void sumWeight(const KernelOperands &operands, int64_t begin,
                 int64_t size) const {
    const int64_t numbers = shape.getNumNumbers(), width = shape.getWidth();
    auto *x = static_cast<float *>(
        getScratch(ScratchUse::Tile, (1 + 2 * numbers) * size * sizeof(float)));
    float *sums = x + size, *recent = sums + numbers * size;
    std::fill(sums, recent, 0.0f);
    const Tiles blocks(shape.getNumTokens(), tokensPerSum);
    for (int64_t block = 0; block < blocks.count; ++block) {
      std::fill(recent, recent + numbers * size, 0.0f);
      auto [first, tokens] = blocks[block];
      for (int64_t token = first; token < first + tokens; ++token) {
        runCastLoop(
            shape.type, DType::F32,
            at(operands.inputs[Streams], shape.type, token * width + begin), x,
            size);
        const float *gradients = getNumberGradients(operands, token);
        const float rstd = get(operands, Rstd)[token];
        for (int64_t i = 0; i < numbers; ++i)
          addScaled(gradients[i] * getFactor(operands, i) * rstd, x,
                    recent + i * size, size);
      }
      addScaled(1, recent, sums, numbers * size);
    }
    auto *result = operands.getOutput<float>(1);
    for (int64_t i = 0; i < numbers; ++i)
      std::copy_n(sums + i * size, size, result + i * width + begin);
  }

  /// Sums up the gradients of factors and bias, in double.
  void sumFactors(const KernelOperands &operands) const {
    const int64_t numbers = shape.getNumNumbers();
    std::vector<double> bias(numbers, 0.0), factors(numbers, 0.0);
    for (int64_t token = 0; token < shape.getNumTokens(); ++token) {
      const float *gradients = getNumberGradients(operands, token);
      const float *projected = get(operands, Projected) + token * numbers;
      const double rstd = get(operands, Rstd)[token];
      for (int64_t i = 0; i < numbers; ++i) {
        bias[i] += gradients[i];
        factors[i] += gradients[i] * (projected[i] * rstd);
      }
    }
    std::array<double, 3> parts = {0, 0, 0};
    for (int64_t i = 0; i < numbers; ++i) {
      operands.getOutput<float>(3)[i] = static_cast<float>(bias[i]);
      parts[shape.getPart(i)] += factors[i];
    }
    for (size_t part = 0; part < parts.size(); ++part)
      operands.getOutput<float>(2)[part] = static_cast<float>(parts[part]);
  }
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
    for (auto [i, saved] : llvm::enumerate(shape.getSaved()))
      checker.requireOutput(3 + i, saved);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(MhcPreKernel{shape});
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
    const auto *mixing = operands.getInput<float>(1),
               *shares = operands.getInput<float>(3);
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

KernelOrError makeMhcPreBackward(const KernelSpec &spec, SpecChecker &checker) {
  SiteShape shape;
  checker.requireInputRank(7, 1);
  checker.requireInputRank(10, 1);
  if (!checker.hasFailed())
    readStreams(spec, 3, spec.inputs[7].dims.back(), checker, shape);
  if (!checker.hasFailed()) {
    shape.halves = spec.inputs[10].dims.front();
    shape.least = static_cast<float>(checker.getDouble("least"));
    checker.require(shape.halves >= 2 && shape.halves % 2 == 0,
                    "input 10 is " + toString(spec.inputs[10]) +
                        ", expected sums of an even number of divisions");
    checker.requireInput(0, shape.getHidden());
    checker.requireInput(1, shape.getShares());
    checker.requireInput(2, shape.getMatrices());
    checker.requireInput(4, shape.getWeight());
    checker.requireInput(5, {DType::F32, {3}});
    checker.requireInput(6, shape.getBias());
    for (auto [i, saved] : llvm::enumerate(shape.getSaved()))
      checker.requireInput(7 + i, saved);
    checker.requireOutput(0, shape.getStreams());
    checker.requireOutput(1, shape.getWeight());
    checker.requireOutput(2, {DType::F32, {3}});
    checker.requireOutput(3, shape.getBias());
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(MhcPreBackwardKernel{shape});
}

KernelOrError makeMhcPostBackward(const KernelSpec &spec,
                                  SpecChecker &checker) {
  SiteShape shape;
  readMixing(spec, 1, checker, shape);
  if (!checker.hasFailed()) {
    checker.requireInput(0, shape.getStreams());
    checker.requireOutput(0, shape.getStreams());
    checker.requireOutput(1, shape.getMatrices());
    checker.requireOutput(2, shape.getHidden());
    checker.requireOutput(3, shape.getShares());
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(shape.getTiles(), [shape](
                                               const KernelOperands &operands,
                                               int64_t begin, int64_t size) {
    const int64_t count = shape.count, hidden = shape.hidden,
                  width = shape.getWidth();
    auto *x = static_cast<float *>(
        getScratch(ScratchUse::Tile, (3 * width + 2 * hidden) * sizeof(float)));
    float *dz = x + width, *dx = dz + width, *y = dx + width, *dy = y + hidden;
    auto read = [&](size_t input, int64_t row, int64_t columns, float *target) {
      runCastLoop(shape.type, DType::F32,
                  at(operands.inputs[input], shape.type, row * columns), target,
                  columns);
    };
    const auto *mixing = operands.getInput<float>(2),
               *shares = operands.getInput<float>(4);
    auto *dMixing = operands.getOutput<float>(1),
         *dShares = operands.getOutput<float>(3);
    for (int64_t token = begin; token < begin + size; ++token) {
      read(0, token, width, dz);
      read(1, token, width, x);
      read(3, token, hidden, y);
      std::fill(dx, dx + width, 0.0f);
      std::fill(dy, dy + hidden, 0.0f);
      for (int64_t j = 0; j < count; ++j) {
        const float *gradient = dz + j * hidden;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t place = (token * count + i) * count + j;
          addScaled(mixing[place], gradient, dx + i * hidden, hidden);
          runRowProducts(DType::F32, x + i * hidden, gradient, dMixing + place,
                         1, hidden);
        }
        addScaled(shares[token * count + j], gradient, dy, hidden);
        runRowProducts(DType::F32, y, gradient, dShares + token * count + j, 1,
                       hidden);
      }
      runCastLoop(DType::F32, shape.type, dx,
                  at(operands.outputs[0], shape.type, token * width), width);
      runCastLoop(DType::F32, shape.type, dy,
                  at(operands.outputs[2], shape.type, token * hidden), hidden);
    }
  });
}

} // namespace mf
