//===- Momentum.cpp - What Muon does with parameters and momenta ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "GradientFactors.h"
#include "OptimizerLoops.h"
#include <cstring>

namespace mf {

KernelOrError makeMomentum(const KernelSpec &spec, SpecChecker &checker) {
  MomentumCoefficients coefficients{};
  coefficients.momentum = static_cast<float>(checker.getDouble("momentum"));
  coefficients.isNesterov = checker.getBool("nesterov", false);
  const TensorShape &directions = spec.outputs[1];
  checker.requireFloatInput(0);
  checker.requireFloatOutput(1);
  checker.requireInput(0, {spec.inputs[0].type, directions.dims});
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(0, {DType::F32, directions.dims});
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(
      Tiles(directions.getNumElements(), elementsPerTile),
      [coefficients, gradientType = spec.inputs[0].type,
       directionType = directions.type](const KernelOperands &operands,
                                        int64_t begin, int64_t size) {
        const bool skips = *static_cast<const float *>(operands.inputs[1]) != 0;
        void *direction = at(operands.outputs[1], directionType, begin);
        if (skips)
          std::memset(direction, 0, getBytes(directionType, size));
        else
          runMomentumLoop(coefficients, Factors(operands, /*first=*/2),
                          gradientType, directionType,
                          at(operands.inputs[0], gradientType, begin),
                          static_cast<float *>(operands.outputs[0]) + begin,
                          direction, size);
      });
}

KernelOrError makeTakeStep(const KernelSpec &spec, SpecChecker &checker) {
  const double scale = checker.getDouble("scale");
  const double weightDecay = checker.getDouble("weight_decay");
  const TensorShape &weight = spec.outputs[0];
  checker.requireFloatInput(0);
  checker.requireFloatOutput(0);
  checker.requireInput(0, {spec.inputs[0].type, weight.dims});
  requireScalars(checker, spec, /*first=*/1);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(
      Tiles(weight.getNumElements(), elementsPerTile),
      [scale, weightDecay, directionType = spec.inputs[0].type,
       weightType = weight.type](const KernelOperands &operands, int64_t begin,
                                 int64_t size) {
        if (*static_cast<const float *>(operands.inputs[2]) != 0)
          return;
        const double rate = *static_cast<const float *>(operands.inputs[1]);
        runStepLoop(static_cast<float>(1 - rate * weightDecay),
                    static_cast<float>(rate * scale), directionType, weightType,
                    at(operands.inputs[0], directionType, begin),
                    at(operands.outputs[0], weightType, begin), size);
      });
}

} // namespace mf
