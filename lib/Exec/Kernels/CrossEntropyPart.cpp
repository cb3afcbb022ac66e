//===- CrossEntropyPart.cpp - Cross entropy of a rank's classes -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The work between the collectives of a loss whose classes are distributed
// over ranks: a rank's part of the sums of each row, and the loss from the sums
// of all ranks. They round like the CANN operators that run them on a device
// (cannBody of their records).
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "LossShape.h"
#include "ReduceLoops.h"
#include "RowLoops.h"
#include "Scratch.h"

namespace mf {
namespace {

void runPickLogit(const LossShape &shape, const KernelOperands &operands,
                  ThreadPool &pool) {
  const auto *labels = static_cast<const int32_t *>(operands.inputs[1]);
  const int64_t first = *static_cast<const int32_t *>(operands.inputs[2]);
  float *picked = static_cast<float *>(operands.outputs[0]);
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
  const auto *labels = static_cast<const int32_t *>(operands.inputs[0]);
  const auto *max = static_cast<const float *>(operands.inputs[1]);
  const auto *exponentials = static_cast<const float *>(operands.inputs[2]);
  const auto *picked = static_cast<const float *>(operands.inputs[3]);
  float *sums = static_cast<float *>(operands.outputs[0]);
  float *logSumExp = static_cast<float *>(operands.outputs[1]);
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

/// Writes the number of labels that count over that of a piece of them.
void runCountLabels(const LossShape &shape, const KernelOperands &operands,
                    ThreadPool &pool) {
  const auto *labels = static_cast<const int32_t *>(operands.inputs[0]);
  int64_t counted = 0;
  for (int64_t row = 0; row < shape.rows; ++row)
    counted += shape.counts(labels[row]) ? 1 : 0;
  static_cast<float *>(operands.outputs[0])[1] = static_cast<float>(counted);
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
  const TensorShape &logits = spec.inputs[0];
  checker.requireFloatInput(0);
  checker.require(logits.dims.size() == 2,
                  "input 0 is " + toString(logits) +
                      ", expected logits of shape rows x classes");
  if (!checker.hasFailed())
    checker.requireOutput(0, {DType::F32, {logits.dims[0]}});
}

} // namespace

KernelOrError makeRowMax(const KernelSpec &spec, SpecChecker &checker) {
  requireRows(checker, spec);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &logits = spec.inputs[0];
  return makeRowKernel(logits, [type =
                                    logits.type](const KernelOperands &operands,
                                                 int64_t columns, int64_t begin,
                                                 int64_t size) {
    runRowMax(type, at(operands.inputs[0], type, begin * columns),
              static_cast<float *>(operands.outputs[0]) + begin, size, columns);
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
    const auto *max = static_cast<const float *>(operands.inputs[1]);
    float *sum = static_cast<float *>(operands.outputs[0]);
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
  LossShape shape;
  const TensorShape rows{DType::F32, spec.inputs[0].dims};
  checker.require(rows.dims.size() == 1, "input 0 is " +
                                             toString(spec.inputs[0]) +
                                             ", expected labels of shape rows");
  checker.requireInputType(0, DType::I32);
  for (size_t input : {1, 2, 3})
    checker.requireInput(input, rows);
  checker.requireOutput(0, getSumsShape(spec.outputs[0]));
  checker.requireOutput(1, rows);
  if (spec.attributes.count("ignore_index"))
    shape.ignoreIndex = checker.getInt("ignore_index");
  shape.classes = checker.getInt("classes");
  shape.rows = rows.getNumElements();
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(shape, runCrossEntropyRows);
}

KernelOrError makeCountLabels(const KernelSpec &spec, SpecChecker &checker) {
  LossShape shape;
  checker.require(spec.inputs[0].dims.size() == 1,
                  "input 0 is " + toString(spec.inputs[0]) +
                      ", expected labels of shape rows");
  checker.requireInputType(0, DType::I32);
  checker.requireOutput(0, getSumsShape(spec.outputs[0]));
  if (spec.attributes.count("ignore_index"))
    shape.ignoreIndex = checker.getInt("ignore_index");
  shape.classes = checker.getInt("classes");
  shape.rows = spec.inputs[0].getNumElements();
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
    const auto *sums = static_cast<const float *>(operands.inputs[0]);
    *static_cast<float *>(operands.outputs[0]) =
        divideByCount(sums[0], sums[1]) / ranks;
    *static_cast<float *>(operands.outputs[1]) = sums[1] * ranks;
  });
}

} // namespace mf
