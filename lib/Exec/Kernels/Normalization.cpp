//===- Normalization.cpp - RMS and layer normalisation --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The forms are those of Zhang and Sennrich, 2019, and Ba et al., 2016.
// Statistics and products are computed in f32, and each result is rounded once.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "RowLoops.h"
#include <cstring>

namespace mf {
namespace {

/// Rows of x, all dimensions but the last, and their length.
struct NormShape {
  DType type, gammaType;
  int64_t rows, columns;

  NormShape(const TensorShape &x, const TensorShape &gamma)
      : type(x.type), gammaType(gamma.type),
        rows(x.getNumElements() / x.dims.back()), columns(x.dims.back()) {}
};

/// Returns gamma in f32: itself, or a copy at `workspace`.
const float *getWideGamma(const NormShape &shape, const void *gamma,
                          void *workspace) {
  if (shape.gammaType == DType::F32)
    return static_cast<const float *>(gamma);
  runCastLoop(shape.gammaType, DType::F32, gamma, workspace, shape.columns);
  return static_cast<float *>(workspace);
}

/// Sums the partial sums of all blocks of rows in place, and stores the result
/// in gamma's type.
void storeSum(const NormShape &shape, float *sums, int64_t numBlocks,
              void *result) {
  for (int64_t block = 1; block < numBlocks; ++block)
    runBinaryLoop(BinaryOp::Add, Advance::Both, DType::F32, sums,
                  sums + block * shape.columns, sums, shape.columns);
  runCastLoop(DType::F32, shape.gammaType, sums, result, shape.columns);
}

void runRmsNorm(const NormShape &shape, float epsilon,
                const KernelOperands &operands, ThreadPool &pool) {
  const float *gamma =
      getWideGamma(shape, operands.inputs[1], operands.workspace);
  auto *rstd = operands.getOutput<float>(1);
  Tiles tiles = tileRows(shape.rows, shape.columns);
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, size] = tiles[tile];
    int64_t offset = begin * shape.columns;
    runRmsNormRows(shape.type, at(operands.inputs[0], shape.type, offset),
                   gamma, at(operands.outputs[0], shape.type, offset),
                   rstd + begin, size, shape.columns, epsilon);
  });
}

/// The gradient of gamma is a sum over all rows: over the rows of each of a
/// fixed number of blocks first, then over the blocks.
struct RmsNormGradKernel {
  NormShape shape;
  Tiles blocks = {shape.rows, getRmsNormGradBlockRows(shape.rows)};

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const int64_t columns = shape.columns;
    const float *gamma =
        getWideGamma(shape, operands.inputs[3], operands.workspace);
    // The sums follow gamma, if the workspace has it.
    float *sums = static_cast<float *>(operands.workspace) +
                  (shape.gammaType == DType::F32 ? 0 : columns);
    const auto *rstd = operands.getInput<float>(2);
    pool.parallelFor(blocks.count, [&](int64_t block) {
      auto [begin, size] = blocks[block];
      float *sum = sums + block * columns;
      std::memset(sum, 0, columns * sizeof(float));
      int64_t offset = begin * columns;
      runRmsNormGradRows(
          shape.type, at(operands.inputs[0], shape.type, offset),
          at(operands.inputs[1], shape.type, offset), rstd + begin, gamma,
          at(operands.outputs[0], shape.type, offset), sum, size, columns);
    });
    storeSum(shape, sums, blocks.count, operands.outputs[1]);
  }
};

void runLayerNorm(const NormShape &shape, float epsilon,
                  const KernelOperands &operands, ThreadPool &pool) {
  float *wide = static_cast<float *>(operands.workspace);
  const float *weight = getWideGamma(shape, operands.inputs[1], wide);
  const float *bias =
      getWideGamma(shape, operands.inputs[2],
                   shape.gammaType == DType::F32 ? wide : wide + shape.columns);
  auto *mean = operands.getOutput<float>(1);
  auto *rstd = operands.getOutput<float>(2);
  Tiles tiles = tileRows(shape.rows, shape.columns);
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, size] = tiles[tile];
    int64_t offset = begin * shape.columns;
    runLayerNormRows(shape.type, at(operands.inputs[0], shape.type, offset),
                     weight, bias, at(operands.outputs[0], shape.type, offset),
                     mean + begin, rstd + begin, size, shape.columns, epsilon);
  });
}

/// The gradients of weight and bias are sums over blocks of rows, as that of
/// gamma is.
struct LayerNormBackwardKernel {
  NormShape shape;
  bool hasFactorGradients;
  Tiles blocks = {shape.rows, getRmsNormGradBlockRows(shape.rows)};

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const int64_t columns = shape.columns;
    const float *weight =
        getWideGamma(shape, operands.inputs[4], operands.workspace);
    float *weightSums = static_cast<float *>(operands.workspace) +
                        (shape.gammaType == DType::F32 ? 0 : columns);
    float *biasSums = weightSums + blocks.count * columns;
    const auto *mean = operands.getInput<float>(2);
    const auto *rstd = operands.getInput<float>(3);
    if (hasFactorGradients)
      std::memset(weightSums, 0, 2 * blocks.count * columns * sizeof(float));
    pool.parallelFor(blocks.count, [&](int64_t block) {
      auto [begin, size] = blocks[block];
      int64_t offset = begin * columns;
      runLayerNormBackwardRows(
          shape.type, at(operands.inputs[0], shape.type, offset),
          at(operands.inputs[1], shape.type, offset), mean + begin,
          rstd + begin, weight, at(operands.outputs[0], shape.type, offset),
          hasFactorGradients ? weightSums + block * columns : nullptr,
          hasFactorGradients ? biasSums + block * columns : nullptr, size,
          columns);
    });
    if (!hasFactorGradients)
      return;
    storeSum(shape, weightSums, blocks.count, operands.outputs[1]);
    storeSum(shape, biasSums, blocks.count, operands.outputs[2]);
  }
};

TensorShape dropLastDimension(const TensorShape &shape, DType type) {
  TensorShape result{type, shape.dims};
  result.dims.pop_back();
  return result;
}

void requireGamma(SpecChecker &checker, const KernelSpec &spec, size_t index,
                  const TensorShape &x) {
  checker.requireFloatInput(index);
  if (!checker.hasFailed())
    checker.requireInput(index, {spec.inputs[index].type, {x.dims.back()}});
}

} // namespace

KernelOrError makeRmsNorm(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &x = spec.inputs[0];
  double epsilon = checker.getDouble("epsilon");
  checker.requireFloatInput(0);
  checker.requireInputRank(0, 1);
  requireGamma(checker, spec, 1, x);
  checker.requireOutput(0, x);
  if (!checker.hasFailed())
    checker.requireOutput(1, dropLastDimension(x, DType::F32));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      [shape = NormShape(spec.inputs[0], spec.inputs[1]),
       epsilon = static_cast<float>(epsilon)](const KernelOperands &operands,
                                              ThreadPool &pool) {
        runRmsNorm(shape, epsilon, operands, pool);
      });
}

KernelOrError makeRmsNormGrad(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &x = spec.inputs[1];
  checker.requireFloatInput(1);
  checker.requireInputRank(1, 1);
  checker.requireInput(0, x);
  if (!checker.hasFailed())
    checker.requireInput(2, dropLastDimension(x, DType::F32));
  requireGamma(checker, spec, 3, x);
  checker.requireOutput(0, x);
  checker.requireOutput(1, spec.inputs[3]);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      RmsNormGradKernel{NormShape(spec.inputs[1], spec.inputs[3])});
}

KernelOrError makeLayerNorm(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &x = spec.inputs[0];
  double epsilon = checker.getDouble("eps");
  checker.requireFloatInput(0);
  checker.requireInputRank(0, 1);
  requireGamma(checker, spec, 1, x);
  checker.requireInput(2, spec.inputs[1]);
  checker.requireOutput(0, x);
  for (size_t index : {1, 2})
    if (!checker.hasFailed())
      checker.requireOutput(index, dropLastDimension(x, DType::F32));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(
      [shape = NormShape(spec.inputs[0], spec.inputs[1]),
       epsilon = static_cast<float>(epsilon)](const KernelOperands &operands,
                                              ThreadPool &pool) {
        runLayerNorm(shape, epsilon, operands, pool);
      });
}

KernelOrError makeLayerNormBackward(const KernelSpec &spec,
                                    SpecChecker &checker) {
  const TensorShape &x = spec.inputs[1];
  checker.requireFloatInput(1);
  checker.requireInputRank(1, 1);
  checker.requireInput(0, x);
  for (size_t index : {2, 3})
    if (!checker.hasFailed())
      checker.requireInput(index, dropLastDimension(x, DType::F32));
  requireGamma(checker, spec, 4, x);
  checker.requireOutput(0, x);
  if (spec.outputs.size() > 1)
    for (size_t index : {1, 2})
      checker.requireOutput(index, spec.inputs[4]);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(LayerNormBackwardKernel{
      NormShape(spec.inputs[1], spec.inputs[4]), spec.outputs.size() > 1});
}

} // namespace mf
