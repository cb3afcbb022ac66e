//===- CrossEntropy.cpp - Mean negative log-likelihood of labels ----------===//
//
// As MindSpore Transformers' CrossEntropyLoss: the mean over the rows that
// count divides by (count + 1e-8). A label outside of the classes is never used
// as an index: such a row does not count, like one with the ignored label.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "RowLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include <cstring>

namespace mf {
namespace {

struct LossShape {
  DType type;
  int64_t rows, classes, ignoreIndex;

  LossShape(const TensorShape &logits, int64_t ignoreIndex)
      : type(logits.type), rows(logits.dims[0]), classes(logits.dims[1]),
        ignoreIndex(ignoreIndex) {}

  bool counts(int64_t label) const {
    return label != ignoreIndex && label >= 0 && label < classes;
  }
};

class CrossEntropyLossKernel : public Kernel {
public:
  explicit CrossEntropyLossKernel(const LossShape &shape) : shape(shape) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    float *logSumExp = static_cast<float *>(operands.outputs[1]);
    Tiles tiles = tileRows(shape.rows, shape.classes);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      runLogSumExpRows(
          shape.type, at(operands.inputs[0], shape.type, begin * shape.classes),
          logSumExp + begin, size, shape.classes);
    });
    sumRows(operands.inputs[0],
            static_cast<const int32_t *>(operands.inputs[1]), logSumExp,
            static_cast<float *>(operands.outputs[0]),
            static_cast<float *>(operands.outputs[2]));
  }

private:
  /// One addition a row: in order, on the calling thread, in double so that
  /// the order hardly matters.
  void sumRows(const void *logits, const int32_t *labels,
               const float *logSumExp, float *loss, float *count) const {
    double sum = 0;
    int64_t counted = 0;
    for (int64_t row = 0; row < shape.rows; ++row) {
      if (!shape.counts(labels[row]))
        continue;
      float logit;
      runCastLoop(shape.type, DType::F32,
                  at(logits, shape.type, row * shape.classes + labels[row]),
                  &logit, 1);
      sum += static_cast<double>(logSumExp[row]) - static_cast<double>(logit);
      ++counted;
    }
    *count = static_cast<float>(counted);
    *loss = static_cast<float>(sum) / (*count + 1e-8f);
  }

  LossShape shape;
};

class CrossEntropyLossGradKernel : public Kernel {
public:
  explicit CrossEntropyLossGradKernel(const LossShape &shape) : shape(shape) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const int32_t *labels = static_cast<const int32_t *>(operands.inputs[2]);
    const float *logSumExp = static_cast<const float *>(operands.inputs[3]);
    const float factor =
        *static_cast<const float *>(operands.inputs[0]) /
        (*static_cast<const float *>(operands.inputs[4]) + 1e-8f);
    Tiles tiles = tileRows(shape.rows, shape.classes);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      for (int64_t row = begin; row < begin + size; ++row) {
        void *gradient =
            at(operands.outputs[0], shape.type, row * shape.classes);
        if (shape.counts(labels[row]))
          runCrossEntropyGradRow(
              shape.type,
              at(operands.inputs[1], shape.type, row * shape.classes),
              labels[row], logSumExp[row], factor, gradient, shape.classes);
        else
          std::memset(gradient, 0, shape.classes * getBytes(shape.type));
      }
    });
  }

private:
  LossShape shape;
};

/// ignore_index is -100 if absent, as in PyTorch and MindSpore.
int64_t getIgnoreIndex(const KernelSpec &spec, SpecChecker &checker) {
  return spec.attributes.count("ignore_index") ? checker.getInt("ignore_index")
                                               : -100;
}

void requireLogits(SpecChecker &checker, const KernelSpec &spec, size_t index) {
  checker.requireFloatInput(index);
  checker.require(spec.inputs[index].dims.size() == 2,
                  "input " + llvm::Twine(index) + " is " +
                      toString(spec.inputs[index]) +
                      ", expected logits of shape rows x classes");
  if (!checker.hasFailed())
    checker.requireInput(index + 1, {DType::I32, {spec.inputs[index].dims[0]}});
}

} // namespace

KernelOrError makeCrossEntropyLoss(const KernelSpec &spec) {
  SpecChecker checker(spec);
  int64_t ignoreIndex = 0;
  if (checker.requireTensors()) {
    ignoreIndex = getIgnoreIndex(spec, checker);
    requireLogits(checker, spec, 0);
    checker.requireOutput(0, {DType::F32, {}});
    if (!checker.hasFailed())
      checker.requireOutput(1, {DType::F32, {spec.inputs[0].dims[0]}});
    checker.requireOutput(2, {DType::F32, {}});
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<CrossEntropyLossKernel>(
      LossShape(spec.inputs[0], ignoreIndex));
}

KernelOrError makeCrossEntropyLossGrad(const KernelSpec &spec) {
  SpecChecker checker(spec);
  int64_t ignoreIndex = 0;
  if (checker.requireTensors()) {
    ignoreIndex = getIgnoreIndex(spec, checker);
    checker.requireInput(0, {DType::F32, {}});
    requireLogits(checker, spec, 1);
    if (!checker.hasFailed())
      checker.requireInput(3, {DType::F32, {spec.inputs[1].dims[0]}});
    checker.requireInput(4, {DType::F32, {}});
    checker.requireOutput(0, spec.inputs[1]);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<CrossEntropyLossGradKernel>(
      LossShape(spec.inputs[1], ignoreIndex));
}

} // namespace mf
