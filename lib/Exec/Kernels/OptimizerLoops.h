//===- OptimizerLoops.h - Vectorised in-place updates ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_OPTIMIZERLOOPS_H
#define MF_LIB_EXEC_KERNELS_OPTIMIZERLOOPS_H

#include "mf/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace mf {

/// One AdamW step with all factors that are the same for all elements combined:
/// m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2, w = decay w -
/// stepSize m / (rootScale sqrt(v) + eps).
struct AdamWCoefficients {
  float beta1, oneMinusBeta1, beta2, oneMinusBeta2;
  float decay, stepSize, rootScale, eps;
};

/// Runs a step of AdamW. The gradient is multiplied by each of `factors`, and
/// each product is rounded to its type.
void runAdamWLoop(const AdamWCoefficients &coefficients,
                  llvm::ArrayRef<float> factors, DType gradientType,
                  DType weightType, const void *gradient, void *weight,
                  float *m, float *v, int64_t count);

/// average = kept average + added w; if `applies`, w = average / divisor and
/// average = 0.
struct AverageCoefficients {
  float kept, added, divisor;
  bool applies;
};

void runAverageLoop(const AverageCoefficients &coefficients, DType weightType,
                    void *weight, float *averages, int64_t count);

/// m = momentum m + g; direction = nesterov ? g + momentum m : m.
struct MomentumCoefficients {
  float momentum;
  bool isNesterov;
};

/// Updates the momentum and computes the direction. The gradient is multiplied
/// as by runAdamWLoop.
void runMomentumLoop(const MomentumCoefficients &coefficients,
                     llvm::ArrayRef<float> factors, DType gradientType,
                     DType directionType, const void *gradient, float *m,
                     void *direction, int64_t count);

/// Computes w = decay w - stepSize direction.
void runStepLoop(float decay, float stepSize, DType directionType,
                 DType weightType, const void *direction, void *weight,
                 int64_t count);

/// Multiplies the gradient by the factors, as in runAdamWLoop, and stores the
/// result in `out`.
void runGradientLoop(llvm::ArrayRef<float> factors, DType gradientType,
                     const void *gradient, float *out, int64_t count);

/// Computes state = kept state + added x, rounded to its type, and out = state.
void runStateLoop(float kept, float added, DType stateType, const float *x,
                  void *state, float *out, int64_t count);

/// Computes y[i] += x[i] in f32, rounded to the type of y.
void runAddToLoop(DType xType, DType yType, const void *x, void *y,
                  int64_t count);

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_OPTIMIZERLOOPS_H
