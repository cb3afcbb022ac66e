//===- Momentum.cpp - What Muon does with parameters and momenta ----------===//

#include "ElementTypes.h"
#include "Factories.h"
#include "GradientFactors.h"
#include "OptimizerLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include <cstring>

namespace mf {
namespace {

/// Muon's momentum, and the direction that is then made orthogonal.
class MomentumKernel : public Kernel {
public:
  MomentumKernel(const MomentumCoefficients &coefficients, DType gradientType,
                 const TensorShape &direction)
      : coefficients(coefficients), gradientType(gradientType),
        directionType(direction.type),
        tiles(direction.getNumElements(), elementsPerTile) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const bool skips = *static_cast<const float *>(operands.inputs[1]) != 0;
    const Factors factors(operands, /*first=*/2);
    float *m = static_cast<float *>(operands.outputs[0]);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      void *direction = at(operands.outputs[1], directionType, begin);
      if (skips)
        std::memset(direction, 0, getBytes(directionType, size));
      else
        runMomentumLoop(coefficients, factors, gradientType, directionType,
                        at(operands.inputs[0], gradientType, begin), m + begin,
                        direction, size);
    });
  }

private:
  MomentumCoefficients coefficients;
  DType gradientType, directionType;
  Tiles tiles;
};

class TakeStepKernel : public Kernel {
public:
  TakeStepKernel(double scale, double weightDecay, DType directionType,
                 const TensorShape &weight)
      : scale(scale), weightDecay(weightDecay), directionType(directionType),
        weightType(weight.type),
        tiles(weight.getNumElements(), elementsPerTile) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    if (*static_cast<const float *>(operands.inputs[2]) != 0)
      return;
    const double rate = *static_cast<const float *>(operands.inputs[1]);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      runStepLoop(static_cast<float>(1 - rate * weightDecay),
                  static_cast<float>(rate * scale), directionType, weightType,
                  at(operands.inputs[0], directionType, begin),
                  at(operands.outputs[0], weightType, begin), size);
    });
  }

private:
  double scale, weightDecay;
  DType directionType, weightType;
  Tiles tiles;
};

} // namespace

KernelOrError makeMomentum(const KernelSpec &spec) {
  SpecChecker checker(spec);
  MomentumCoefficients coefficients{};
  if (checker.requireTensors()) {
    coefficients.momentum = static_cast<float>(checker.getDouble("momentum"));
    coefficients.isNesterov = checker.getBool("nesterov", false);
    const TensorShape &direction = spec.outputs[1];
    checker.requireFloatInput(0);
    checker.requireFloatOutput(1);
    checker.requireInput(0, {spec.inputs[0].type, direction.dims});
    requireScalars(checker, spec, /*first=*/1);
    checker.requireOutput(0, {DType::F32, direction.dims});
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<MomentumKernel>(coefficients, spec.inputs[0].type,
                                          spec.outputs[1]);
}

KernelOrError makeTakeStep(const KernelSpec &spec) {
  SpecChecker checker(spec);
  double scale = 0, weightDecay = 0;
  if (checker.requireTensors()) {
    scale = checker.getDouble("scale");
    weightDecay = checker.getDouble("weight_decay");
    const TensorShape &weight = spec.outputs[0];
    checker.requireFloatInput(0);
    checker.requireFloatOutput(0);
    checker.requireInput(0, {spec.inputs[0].type, weight.dims});
    requireScalars(checker, spec, /*first=*/1);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<TakeStepKernel>(scale, weightDecay,
                                          spec.inputs[0].type, spec.outputs[0]);
}

} // namespace mf
