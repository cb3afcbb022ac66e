//===- CrossEntropy.cpp - Mean negative log-likelihood of labels ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// As in MindSpore Transformers' CrossEntropyLoss, the mean over the rows that
// count divides by (count + 1e-8).
//
// If ranks divide the classes, kernels compute a rank's terms of the sums of
// each row, and the loss from the sums of all ranks. They round like the CANN
// operators that run them on a device (cannBody of their records).
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "ReduceLoops.h"
#include "RowLoops.h"
#include "Scratch.h"
#include "SpecChecker.h"
#include "StreamedOutput.h"
#include <cstring>

namespace mf {
namespace {

/// Logits [rows, columns] and labels [rows]. A label outside of the classes is
/// never used as an index. Such a row does not count, like one with the ignored
/// label.
struct LossShape {
  DType type = DType::F32;
  int64_t rows = 0, columns = 0;
  /// The number of classes in the columns of all ranks.
  int64_t classes = 0;
  int64_t ignoreIndex = -100;

  bool counts(int64_t label) const {
    return label != ignoreIndex && label >= 0 && label < classes;
  }
};

/// Divides a sum over rows by the number of rows that count, as MindSpore
/// Transformers does.
float divideByCount(float sum, float count) { return sum / (count + 1e-8f); }

/// Returns the shape of `sums`: [2] for the sums of all ranks, or [1, 2] for
/// those of a rank's own rows. Any other shape returns the former.
TensorShape getSumsShape(const TensorShape &sums) {
  TensorShape shape{DType::F32, {2}};
  if (sums.dims.size() == 2)
    shape.dims = {1, 2};
  return shape;
}

/// Returns the shape of the number of rows that count: of all ranks, or of one
/// rank.
TensorShape getCountShape(bool isOwn) {
  TensorShape shape{DType::F32, {}};
  if (isOwn)
    shape.dims = {1};
  return shape;
}

int64_t getIgnoreIndex(const KernelSpec &spec, SpecChecker &checker) {
  return spec.attributes.count("ignore_index") ? checker.getInt("ignore_index")
                                               : LossShape().ignoreIndex;
}

void requireLogits(SpecChecker &checker, const KernelSpec &spec, size_t index) {
  const TensorShape &logits = spec.inputs[index];
  checker.requireFloatInput(index);
  checker.require(logits.dims.size() == 2,
                  "input " + llvm::Twine(index) + " is " + toString(logits) +
                      ", expected logits of shape rows x classes");
}

/// Checks that inputs `index` and `index` + 1 are logits and labels, and reads
/// their shape and `ignore_index`, -100 if absent as in PyTorch and MindSpore.
/// With `classes` the logits are a part of that many columns. The result is
/// valid only if the checker has not failed.
LossShape readLossShape(const KernelSpec &spec, size_t index,
                        SpecChecker &checker) {
  LossShape shape;
  const TensorShape &logits = spec.inputs[index];
  requireLogits(checker, spec, index);
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

/// The sum over the rows that count, and their number.
struct LossSum {
  float sum, count;
};

/// Computes the logarithm of each row's sum of exponentials, and then the
/// losses.
LossSum sumLosses(const LossShape &shape, const KernelOperands &operands,
                  float *logSumExp, ThreadPool &pool) {
  const void *logits = operands.inputs[0];
  const auto *labels = operands.getInput<int32_t>(1);
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
  LossSum loss = sumLosses(shape, operands, operands.getOutput<float>(1), pool);
  *operands.getOutput<float>(0) = divideByCount(loss.sum, loss.count);
  *operands.getOutput<float>(2) = loss.count;
}

void runCrossEntropySum(const LossShape &shape, const KernelOperands &operands,
                        ThreadPool &pool) {
  LossSum loss = sumLosses(shape, operands, operands.getOutput<float>(1), pool);
  auto *sums = operands.getOutput<float>(0);
  sums[0] = loss.sum;
  sums[1] = loss.count;
}

void runCrossEntropyLossGrad(const LossShape &shape,
                             const KernelOperands &operands, ThreadPool &pool) {
  const auto *labels = operands.getInput<int32_t>(2);
  const auto *logSumExp = operands.getInput<float>(3);
  const float factor =
      divideByCount(*operands.getInput<float>(0), *operands.getInput<float>(4));
  const int64_t firstColumn =
      operands.inputs.size() > 5 ? *operands.getInput<int32_t>(5) : 0;
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

void runPickLogit(const LossShape &shape, const KernelOperands &operands,
                  ThreadPool &pool) {
  const auto *labels = operands.getInput<int32_t>(1);
  const int64_t first = *operands.getInput<int32_t>(2);
  auto *picked = operands.getOutput<float>(0);
  for (int64_t row = 0; row < shape.rows; ++row) {
    const int64_t column = labels[row] - first;
    picked[row] = 0;
    if (column >= 0 && column < shape.columns)
      runCastLoop(
          shape.type, DType::F32,
          at(operands.inputs[0], shape.type, row * shape.columns + column),
          picked + row, 1);
  }
}

void runCrossEntropyRows(const LossShape &shape, const KernelOperands &operands,
                         ThreadPool &pool) {
  const auto *labels = operands.getInput<int32_t>(0);
  const auto *max = operands.getInput<float>(1);
  const auto *exponentials = operands.getInput<float>(2);
  const auto *picked = operands.getInput<float>(3);
  auto *sums = operands.getOutput<float>(0);
  auto *logSumExp = operands.getOutput<float>(1);
  runUnaryLoop(UnaryOp::Log, DType::F32, exponentials, logSumExp, shape.rows,
               /*scalar=*/0);
  int64_t counted = 0;
  auto *losses = static_cast<float *>(getScratch(
      ScratchUse::Tile, std::min(shape.rows, elementsPerSum) * sizeof(float)));
  sums[0] = sumRow(shape.rows, [&](int64_t first, int64_t size) {
    for (int64_t row = first; row < first + size; ++row) {
      logSumExp[row] += max[row];
      const bool counts = shape.counts(labels[row]);
      losses[row - first] = counts ? logSumExp[row] - picked[row] : 0;
      counted += counts ? 1 : 0;
    }
    return runSumLoop(DType::F32, losses, size);
  });
  sums[1] = static_cast<float>(counted);
}

/// Writes the number of labels that count over that of a chunk of labels.
void runCountLabels(const LossShape &shape, const KernelOperands &operands,
                    ThreadPool &pool) {
  const auto *labels = operands.getInput<int32_t>(0);
  int64_t counted = 0;
  for (int64_t row = 0; row < shape.rows; ++row)
    counted += shape.counts(labels[row]) ? 1 : 0;
  operands.getOutput<float>(0)[1] = static_cast<float>(counted);
}

/// Returns the sum of exp(x - max) over a row.
float addExponentials(DType type, const void *row, int64_t columns, float max) {
  auto *exponentials = static_cast<float *>(getScratch(
      ScratchUse::Tile, std::min(columns, elementsPerSum) * sizeof(float)));
  return sumRow(columns, [&](int64_t first, int64_t size) {
    runExponentials(type, at(row, type, first), max, exponentials, size);
    return runSumLoop(DType::F32, exponentials, size);
  });
}

/// Checks logits [rows, columns] and a result [rows] in fp32.
void requireRows(SpecChecker &checker, const KernelSpec &spec) {
  requireLogits(checker, spec, 0);
  if (!checker.hasFailed())
    checker.requireOutput(0, {DType::F32, {spec.inputs[0].dims[0]}});
}

/// Checks that input 0 are labels, and reads their number, `ignore_index` and
/// `classes`.
LossShape readLabels(const KernelSpec &spec, SpecChecker &checker) {
  LossShape shape;
  checker.require(spec.inputs[0].dims.size() == 1,
                  "input 0 is " + toString(spec.inputs[0]) +
                      ", expected labels of shape rows");
  checker.requireInputType(0, DType::I32);
  shape.ignoreIndex = getIgnoreIndex(spec, checker);
  shape.classes = checker.getInt("classes");
  shape.rows = spec.inputs[0].getNumElements();
  return shape;
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

KernelOrError makeRowMax(const KernelSpec &spec, SpecChecker &checker) {
  requireRows(checker, spec);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &logits = spec.inputs[0];
  return makeRowKernel(
      logits,
      [type = logits.type](const KernelOperands &operands, int64_t columns,
                           int64_t begin, int64_t size) {
        runRowMax(type, at(operands.inputs[0], type, begin * columns),
                  operands.getOutput<float>(0) + begin, size, columns);
      });
}

KernelOrError makeRowExponentialSum(const KernelSpec &spec,
                                    SpecChecker &checker) {
  requireRows(checker, spec);
  if (!checker.hasFailed())
    checker.requireInput(1, spec.outputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &logits = spec.inputs[0];
  return makeRowKernel(logits, [type =
                                    logits.type](const KernelOperands &operands,
                                                 int64_t columns, int64_t begin,
                                                 int64_t size) {
    const auto *max = operands.getInput<float>(1);
    auto *sum = operands.getOutput<float>(0);
    for (int64_t row = begin; row < begin + size; ++row)
      sum[row] = addExponentials(
          type, at(operands.inputs[0], type, row * columns), columns, max[row]);
  });
}

KernelOrError makePickLogit(const KernelSpec &spec, SpecChecker &checker) {
  LossShape shape = readLossShape(spec, 0, checker);
  checker.requireInput(2, {DType::I32, {1}});
  checker.requireOutput(0, {DType::F32, {shape.rows}});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(shape, runPickLogit);
}

KernelOrError makeCrossEntropyRows(const KernelSpec &spec,
                                   SpecChecker &checker) {
  const LossShape shape = readLabels(spec, checker);
  const TensorShape rows{DType::F32, spec.inputs[0].dims};
  for (size_t input : {1, 2, 3})
    checker.requireInput(input, rows);
  checker.requireOutput(0, getSumsShape(spec.outputs[0]));
  checker.requireOutput(1, rows);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(shape, runCrossEntropyRows);
}

KernelOrError makeCountLabels(const KernelSpec &spec, SpecChecker &checker) {
  const LossShape shape = readLabels(spec, checker);
  checker.requireOutput(0, getSumsShape(spec.outputs[0]));
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(shape, runCountLabels);
}

KernelOrError makeMeanLoss(const KernelSpec &spec, SpecChecker &checker) {
  int64_t ranks = 1;
  const bool isOwn = spec.attributes.count("ranks") > 0;
  checker.requireInput(0, getSumsShape(spec.inputs[0]));
  checker.require((spec.inputs[0].dims.size() == 2) == isOwn,
                  "expected 'ranks' with sums of a rank's own rows, and only "
                  "with those");
  checker.requireOutput(0, {DType::F32, {}});
  checker.requireOutput(1, getCountShape(isOwn));
  if (isOwn)
    ranks = checker.getInt("ranks");
  checker.require(ranks > 0, "expected 'ranks' above 0");
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel([ranks = static_cast<float>(ranks)](
                                const KernelOperands &operands, ThreadPool &) {
    const auto *sums = operands.getInput<float>(0);
    *operands.getOutput<float>(0) = divideByCount(sums[0], sums[1]) / ranks;
    *operands.getOutput<float>(1) = sums[1] * ranks;
  });
}

} // namespace mf
