//===- StateAverage.cpp - Gradients as tensors, and running means ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "Factories.h"
#include "FunctionKernel.h"
#include "GradientFactors.h"
#include "OptimizerLoops.h"
#include <cmath>

namespace mf {
KernelOrError makeTakeGradient(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireFloatInput(0);
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(0, {DType::F32, spec.inputs[0].dims});
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &gradient = spec.inputs[0];
  return makeTiledKernel(
      Tiles(gradient.getNumElements(), elementsPerTile),
      [type = gradient.type](const KernelOperands &operands, int64_t begin,
                             int64_t size) {
        runGradientLoop(Factors(operands, /*first=*/1), type,
                        at(operands.inputs[0], type, begin),
                        static_cast<float *>(operands.outputs[0]) + begin,
                        size);
      });
}

KernelOrError makeUpdateAverage(const KernelSpec &spec, SpecChecker &checker) {
  const double decay = checker.getDouble("decay");
  const bool grows = checker.getBool("grows", false);
  const TensorShape wide = {DType::F32, spec.outputs[0].dims};
  checker.requireFloatOutput(0);
  checker.requireInput(0, wide);
  requireScalars(checker, spec, /*first=*/1);
  checker.requireOutput(1, wide);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &average = spec.outputs[0];
  return makeFunctionKernel(
      [decay, grows, type = average.type,
       tiles = Tiles(average.getNumElements(), elementsPerTile)](
          const KernelOperands &operands, ThreadPool &pool) {
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
          runStateLoop(static_cast<float>(kept), static_cast<float>(1 - kept),
                       type,
                       static_cast<const float *>(operands.inputs[0]) + begin,
                       state, out, size);
        });
      });
}

} // namespace mf
