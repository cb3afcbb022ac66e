//===- Cumsum.cpp - Sums up to each element -------------------------------===//

#include "Factories.h"
#include "ReduceLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {
namespace {

/// A tile is a strip of neighbouring sums, from the first element of the axis
/// to the last; or whole rows, if the axis is the last one.
class CumsumKernel : public Kernel {
public:
  CumsumKernel(const TensorShape &x, int64_t axis)
      : type(x.type), length(x.dims[axis]) {
    for (size_t i = axis + 1; i < x.dims.size(); ++i)
      inner *= x.dims[i];
    outer = x.getNumElements() / (length * inner);
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const Tiles strips(inner, sumsPerStrip);
    // Short ones are grouped to be worth a thread's while.
    const Tiles tiles =
        tileRows(outer * strips.count, length * std::min(inner, sumsPerStrip));
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      for (int64_t i = begin; i < begin + size; ++i) {
        auto [first, width] = strips[i % strips.count];
        const int64_t start = i / strips.count * length * inner + first;
        runCumsumLoop(type, at(operands.inputs[0], type, start),
                      at(operands.outputs[0], type, start), length, inner,
                      width);
      }
    });
  }

private:
  /// Whole cache lines, and few enough that rows of experts make several
  /// strips.
  static constexpr int64_t sumsPerStrip = 64;

  DType type;
  int64_t length, inner = 1, outer;
};

} // namespace

KernelOrError makeCumsum(const KernelSpec &spec) {
  SpecChecker checker(spec);
  int64_t axis = 0;
  if (checker.requireTensors()) {
    checker.requireFloatInput(0);
    axis = checker.getAxis("axis", spec.inputs[0].dims.size());
    checker.requireOutput(0, spec.inputs[0]);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<CumsumKernel>(spec.inputs[0], axis);
}

} // namespace mf
