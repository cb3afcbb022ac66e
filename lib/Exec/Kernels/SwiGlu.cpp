//===- SwiGlu.cpp - SiLU-gated linear unit on a packed input --------------===//

#include "Factories.h"
#include "RowLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {
namespace {

class SwiGluKernel : public Kernel {
public:
  explicit SwiGluKernel(const TensorShape &y)
      : type(y.type), columns(y.dims.back()),
        tiles(tileRows(y.getNumElements() / columns, columns)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      runSwiGluRows(type, at(operands.inputs[0], type, begin * 2 * columns),
                    at(operands.outputs[0], type, begin * columns), size,
                    columns);
    });
  }

private:
  DType type;
  int64_t columns;
  Tiles tiles;
};

class SwiGluGradKernel : public Kernel {
public:
  explicit SwiGluGradKernel(const TensorShape &dy)
      : type(dy.type), columns(dy.dims.back()),
        tiles(tileRows(dy.getNumElements() / columns, columns)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      runSwiGluGradRows(type, at(operands.inputs[0], type, begin * columns),
                        at(operands.inputs[1], type, begin * 2 * columns),
                        at(operands.outputs[0], type, begin * 2 * columns),
                        size, columns);
    });
  }

private:
  DType type;
  int64_t columns;
  Tiles tiles;
};

/// Returns the shape of the result for an input that has gate and value in its
/// last dimension or, if the result has one dimension fewer, in the two rows
/// before it.
TensorShape getHalf(SpecChecker &checker, const KernelSpec &spec, size_t index,
                    size_t resultRank) {
  checker.requireFloatInput(index);
  checker.requireInputRank(index, 1);
  if (checker.hasFailed())
    return {};
  TensorShape half = spec.inputs[index];
  const size_t rank = half.dims.size();
  if (resultRank + 1 == rank) {
    checker.require(rank >= 2 && half.dims[rank - 2] == 2,
                    "input " + llvm::Twine(index) + " is " + toString(half) +
                        ", expected two rows in its last dimensions: gate and "
                        "value");
    if (rank >= 2)
      half.dims.erase(half.dims.end() - 2);
    return half;
  }
  checker.require(half.dims.back() % 2 == 0,
                  "input " + llvm::Twine(index) + " is " + toString(half) +
                      ", expected an even last dimension: gate and value "
                      "side by side");
  half.dims.back() /= 2;
  return half;
}

} // namespace

KernelOrError makeSwiGlu(const KernelSpec &spec) {
  SpecChecker checker(spec);
  if (checker.requireTensors())
    checker.requireOutput(
        0, getHalf(checker, spec, 0, spec.outputs[0].dims.size()));
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<SwiGluKernel>(spec.outputs[0]);
}

KernelOrError makeSwiGluGrad(const KernelSpec &spec) {
  SpecChecker checker(spec);
  if (checker.requireTensors()) {
    checker.requireInput(0,
                         getHalf(checker, spec, 1, spec.inputs[0].dims.size()));
    checker.requireOutput(0, spec.inputs[1]);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<SwiGluGradKernel>(spec.inputs[0]);
}

} // namespace mf
