//===- Softmax.cpp - Softmax over the last dimension ----------------------===//

#include "Factories.h"
#include "RowLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {
namespace {

class SoftmaxKernel : public Kernel {
public:
  explicit SoftmaxKernel(const TensorShape &x)
      : type(x.type), columns(x.dims.back()),
        tiles(tileRows(x.getNumElements() / columns, columns)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      int64_t offset = begin * columns;
      runSoftmaxRows(type, at(operands.inputs[0], type, offset),
                     at(operands.outputs[0], type, offset), size, columns);
    });
  }

private:
  DType type;
  int64_t columns;
  Tiles tiles;
};

class SoftmaxBackwardKernel : public Kernel {
public:
  explicit SoftmaxBackwardKernel(const TensorShape &y)
      : type(y.type), columns(y.dims.back()),
        tiles(tileRows(y.getNumElements() / columns, columns)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      int64_t offset = begin * columns;
      runSoftmaxBackwardRows(type, at(operands.inputs[0], type, offset),
                             at(operands.inputs[1], type, offset),
                             at(operands.outputs[0], type, offset), size,
                             columns);
    });
  }

private:
  DType type;
  int64_t columns;
  Tiles tiles;
};

} // namespace

KernelOrError makeSoftmax(const KernelSpec &spec) {
  SpecChecker checker(spec);
  if (checker.requireTensors()) {
    checker.requireFloatInput(0);
    checker.requireInputRank(0, 1);
    checker.requireOutput(0, spec.inputs[0]);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<SoftmaxKernel>(spec.inputs[0]);
}

KernelOrError makeSoftmaxBackward(const KernelSpec &spec) {
  SpecChecker checker(spec);
  if (checker.requireTensors()) {
    checker.requireFloatInput(0);
    checker.requireInputRank(0, 1);
    checker.requireInput(1, spec.inputs[0]);
    checker.requireOutput(0, spec.inputs[0]);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<SoftmaxBackwardKernel>(spec.inputs[0]);
}

} // namespace mf
