//===- StateAverage.cpp - Gradients as tensors, and running means ---------===//

#include "ElementTypes.h"
#include "Factories.h"
#include "GradientFactors.h"
#include "OptimizerLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include <cmath>

namespace mf {
namespace {

class TakeGradientKernel : public Kernel {
public:
  explicit TakeGradientKernel(const TensorShape &gradient)
      : type(gradient.type), tiles(gradient.getNumElements(), elementsPerTile) {
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const Factors factors(operands, /*first=*/1);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      runGradientLoop(factors, type, at(operands.inputs[0], type, begin),
                      static_cast<float *>(operands.outputs[0]) + begin, size);
    });
  }

private:
  DType type;
  Tiles tiles;
};

class UpdateAverageKernel : public Kernel {
public:
  UpdateAverageKernel(double decay, bool grows, const TensorShape &state)
      : decay(decay), grows(grows), type(state.type),
        tiles(state.getNumElements(), elementsPerTile) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const bool skips = *static_cast<const float *>(operands.inputs[2]) != 0;
    const double step = *static_cast<const float *>(operands.inputs[1]);
    const double kept = grows ? 1 - std::pow(step, -decay) : decay;
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      void *state = at(operands.outputs[0], type, begin);
      float *out = static_cast<float *>(operands.outputs[1]) + begin;
      if (skips)
        // The value may be infinite.
        return runGradientLoop({}, type, state, out, size);
      runStateLoop(static_cast<float>(kept), static_cast<float>(1 - kept), type,
                   static_cast<const float *>(operands.inputs[0]) + begin,
                   state, out, size);
    });
  }

private:
  double decay;
  bool grows;
  DType type;
  Tiles tiles;
};

} // namespace

KernelOrError makeTakeGradient(const KernelSpec &spec) {
  SpecChecker checker(spec);
  if (checker.requireTensors()) {
    checker.requireFloatInput(0);
    requireScalars(checker, spec, /*first=*/1);
    checker.requireOutput(0, {DType::F32, spec.inputs[0].dims});
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<TakeGradientKernel>(spec.inputs[0]);
}

KernelOrError makeUpdateAverage(const KernelSpec &spec) {
  SpecChecker checker(spec);
  double decay = 0;
  bool grows = false;
  if (checker.requireTensors()) {
    decay = checker.getDouble("decay");
    grows = checker.getBool("grows", false);
    const TensorShape wide = {DType::F32, spec.outputs[0].dims};
    checker.requireFloatOutput(0);
    checker.requireInput(0, wide);
    requireScalars(checker, spec, /*first=*/1);
    checker.requireOutput(1, wide);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<UpdateAverageKernel>(decay, grows, spec.outputs[0]);
}

} // namespace mf
