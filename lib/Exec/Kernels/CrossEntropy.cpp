//===- CrossEntropy.cpp - Mean negative log-likelihood of labels ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// As in MindSpore Transformers' CrossEntropyLoss, the mean over the rows that
// count divides by (count + 1e-8).
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "LossShape.h"
#include "RowLoops.h"
#include "StreamedOutput.h"
#include <cstring>

namespace mf {

static int64_t getIgnoreIndex(const KernelSpec &spec, SpecChecker &checker) {
  return spec.attributes.count("ignore_index") ? checker.getInt("ignore_index")
                                               : LossShape().ignoreIndex;
}

LossShape readLossShape(const KernelSpec &spec, size_t index,
                        SpecChecker &checker) {
  LossShape shape;
  const TensorShape &logits = spec.inputs[index];
  checker.requireFloatInput(index);
  checker.require(logits.dims.size() == 2,
                  "input " + llvm::Twine(index) + " is " + toString(logits) +
                      ", expected logits of shape rows x classes");
  if (checker.hasFailed())
    return shape;
  shape.type = logits.type;
  shape.rows = logits.dims[0];
  shape.columns = logits.dims[1];
  shape.ignoreIndex = getIgnoreIndex(spec, checker);
  shape.classes = spec.attributes.count("classes") ? checker.getInt("classes")
                                                   : shape.columns;
  checker.requireInput(index + 1, {DType::I32, {shape.rows}});
  return shape;
}

namespace {

/// The sum over the rows that count, and their number.
struct LossSum {
  float sum, count;
};

/// Computes the logarithm of each row's sum of exponentials, and then the
/// losses.
LossSum sumLosses(const LossShape &shape, const KernelOperands &operands,
                  float *logSumExp, ThreadPool &pool) {
  const void *logits = operands.inputs[0];
  const auto *labels = static_cast<const int32_t *>(operands.inputs[1]);
  // A tile has a few long rows too, because the next one is fetched while one
  // is summed.
  const int64_t fewRows = std::clamp<int64_t>(shape.rows / 16, 1, 4);
  Tiles tiles(shape.rows, std::max(fewRows, elementsPerTile / shape.columns));
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, size] = tiles[tile];
    runLogSumExpRows(shape.type, at(logits, shape.type, begin * shape.columns),
                     logSumExp + begin, size, shape.columns);
  });
  // Needs one addition per row. They are made in order on the calling thread,
  // in double, so that the order hardly matters.
  double sum = 0;
  int64_t counted = 0;
  for (int64_t row = 0; row < shape.rows; ++row) {
    if (!shape.counts(labels[row]))
      continue;
    float logit;
    runCastLoop(shape.type, DType::F32,
                at(logits, shape.type, row * shape.columns + labels[row]),
                &logit, 1);
    sum += static_cast<double>(logSumExp[row]) - static_cast<double>(logit);
    ++counted;
  }
  return {static_cast<float>(sum), static_cast<float>(counted)};
}

void runCrossEntropyLoss(const LossShape &shape, const KernelOperands &operands,
                         ThreadPool &pool) {
  LossSum loss = sumLosses(shape, operands,
                           static_cast<float *>(operands.outputs[1]), pool);
  *static_cast<float *>(operands.outputs[0]) =
      divideByCount(loss.sum, loss.count);
  *static_cast<float *>(operands.outputs[2]) = loss.count;
}

void runCrossEntropySum(const LossShape &shape, const KernelOperands &operands,
                        ThreadPool &pool) {
  LossSum loss = sumLosses(shape, operands,
                           static_cast<float *>(operands.outputs[1]), pool);
  float *sums = static_cast<float *>(operands.outputs[0]);
  sums[0] = loss.sum;
  sums[1] = loss.count;
}

void runCrossEntropyLossGrad(const LossShape &shape,
                             const KernelOperands &operands, ThreadPool &pool) {
  const auto *labels = static_cast<const int32_t *>(operands.inputs[2]);
  const auto *logSumExp = static_cast<const float *>(operands.inputs[3]);
  const float factor =
      divideByCount(*static_cast<const float *>(operands.inputs[0]),
                    *static_cast<const float *>(operands.inputs[4]));
  const int64_t firstColumn =
      operands.inputs.size() > 5
          ? *static_cast<const int32_t *>(operands.inputs[5])
          : 0;
  const bool streamed =
      isStreamed(shape.rows * shape.columns * getBytes(shape.type)) &&
      operands.outputs[0] != operands.inputs[1];
  Tiles tiles = tileRows(shape.rows, shape.columns);
  pool.parallelFor(tiles.count, [&](int64_t tile) {
    auto [begin, size] = tiles[tile];
    for (int64_t row = begin; row < begin + size; ++row) {
      const int64_t first = row * shape.columns;
      const void *logits = at(operands.inputs[1], shape.type, first);
      void *gradient = at(operands.outputs[0], shape.type, first);
      if (!shape.counts(labels[row])) {
        std::memset(gradient, 0, shape.columns * getBytes(shape.type));
        continue;
      }
      const int64_t label = labels[row] - firstColumn;
      writeOutput(streamed, shape.type, gradient, shape.columns,
                  [&](int64_t from, int64_t count, void *to) {
                    const bool isHere = label >= from && label < from + count;
                    runCrossEntropyGradRow(shape.type,
                                           at(logits, shape.type, from),
                                           isHere ? label - from : -1,
                                           logSumExp[row], factor, to, count);
                  });
    }
  });
}

} // namespace

KernelOrError makeCrossEntropyLoss(const KernelSpec &spec,
                                   SpecChecker &checker) {
  LossShape shape = readLossShape(spec, 0, checker);
  checker.requireOutput(0, {DType::F32, {}});
  checker.requireOutput(1, {DType::F32, {shape.rows}});
  checker.requireOutput(2, {DType::F32, {}});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(shape, runCrossEntropyLoss);
}

KernelOrError makeCrossEntropySum(const KernelSpec &spec,
                                  SpecChecker &checker) {
  LossShape shape = readLossShape(spec, 0, checker);
  checker.requireOutput(0, getSumsShape(spec.outputs[0]));
  checker.requireOutput(1, {DType::F32, {shape.rows}});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(shape, runCrossEntropySum);
}

KernelOrError makeCrossEntropyLossGrad(const KernelSpec &spec,
                                       SpecChecker &checker) {
  checker.requireInput(0, {DType::F32, {}});
  LossShape shape = readLossShape(spec, 1, checker);
  checker.requireInput(3, {DType::F32, {shape.rows}});
  checker.requireInput(4, getCountShape(!spec.inputs[4].dims.empty()));
  if (spec.inputs.size() > 5)
    checker.requireInput(5, {DType::I32, {1}});
  checker.requireOutput(0, spec.inputs[1]);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(shape, runCrossEntropyLossGrad);
}

} // namespace mf
