//===- OptimizerLoops.cpp - Vectorised in-place updates -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OptimizerLoops.h"
#include "HighwayTargets.h"
#include "LoopDispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/OptimizerLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "Simd-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

/// The distance in elements between the computed and the prefetched ones. The
/// processor's own prefetching stops at the end of a page, every 1024 elements,
/// and cannot follow several arrays well. Prefetching past the end is harmless.
constexpr int64_t fetchedAhead = 512;

template <typename... Elements>
HWY_INLINE void fetchAhead(int64_t i, const Elements *...arrays) {
  (hwy::Prefetch(arrays + i + fetchedAhead), ...);
}

template <typename Gradient, typename Weight>
void adamW(const AdamWCoefficients &coefficients, llvm::ArrayRef<float> factors,
           const void *gradients, void *weights, float *m, float *v,
           int64_t count) {
  const auto *g = static_cast<const Gradient *>(gradients);
  auto *w = static_cast<Weight *>(weights);
  const auto beta1 = hn::Set(floats, coefficients.beta1);
  const auto rest1 = hn::Set(floats, coefficients.oneMinusBeta1);
  const auto beta2 = hn::Set(floats, coefficients.beta2);
  const auto rest2 = hn::Set(floats, coefficients.oneMinusBeta2);
  const auto decay = hn::Set(floats, coefficients.decay);
  const auto stepSize = hn::Set(floats, coefficients.stepSize);
  const auto rootScale = hn::Set(floats, coefficients.rootScale);
  const auto eps = hn::Set(floats, coefficients.eps);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    fetchAhead(i, g, w, m, v);
    auto gradient = multiplied<Gradient>(part.get(g + i), factors);
    auto first = hn::MulAdd(beta1, part.get(m + i), hn::Mul(rest1, gradient));
    auto second = hn::MulAdd(beta2, part.get(v + i),
                             hn::Mul(rest2, hn::Mul(gradient, gradient)));
    auto root = hn::MulAdd(rootScale, hn::Sqrt(second), eps);
    auto step = hn::Mul(stepSize, hn::Div(first, root));
    part.put(first, m + i);
    part.put(second, v + i);
    part.put(hn::Sub(hn::Mul(decay, part.get(w + i)), step), w + i);
  });
}

template <typename Gradient, typename Direction>
void addMomentum(const MomentumCoefficients &coefficients,
                 llvm::ArrayRef<float> factors, const void *gradients, float *m,
                 void *directions, int64_t count) {
  const auto *g = static_cast<const Gradient *>(gradients);
  auto *direction = static_cast<Direction *>(directions);
  const auto momentum = hn::Set(floats, coefficients.momentum);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    auto gradient = multiplied<Gradient>(part.get(g + i), factors);
    auto sum = hn::MulAdd(momentum, part.get(m + i), gradient);
    part.put(sum, m + i);
    part.put(coefficients.isNesterov ? hn::MulAdd(momentum, sum, gradient)
                                     : sum,
             direction + i);
  });
}

template <typename Direction, typename Weight>
void takeStep(float decayFactor, float size, const void *directions,
              void *weights, int64_t count) {
  const auto *direction = static_cast<const Direction *>(directions);
  auto *w = static_cast<Weight *>(weights);
  const auto decay = hn::Set(floats, decayFactor);
  const auto stepSize = hn::Set(floats, size);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    auto step = hn::Mul(stepSize, part.get(direction + i));
    part.put(hn::Sub(hn::Mul(decay, part.get(w + i)), step), w + i);
  });
}

template <typename Weight>
void addToAverage(const AverageCoefficients &coefficients, void *weights,
                  float *average, int64_t count) {
  auto *w = static_cast<Weight *>(weights);
  const auto kept = hn::Set(floats, coefficients.kept);
  const auto added = hn::Set(floats, coefficients.added);
  const auto divisor = hn::Set(floats, coefficients.divisor);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    auto next = hn::MulAdd(kept, part.get(average + i),
                           hn::Mul(added, part.get(w + i)));
    if (coefficients.applies) {
      part.put(hn::Div(next, divisor), w + i);
      next = hn::Zero(floats);
    }
    part.put(next, average + i);
  });
}

template <typename Gradient>
void takeGradient(llvm::ArrayRef<float> factors, const void *gradients,
                  float *out, int64_t count) {
  const auto *g = static_cast<const Gradient *>(gradients);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    part.put(multiplied<Gradient>(part.get(g + i), factors), out + i);
  });
}

template <typename State>
void updateState(float keptFactor, float addedFactor, const float *x,
                 void *states, float *out, int64_t count) {
  auto *state = static_cast<State *>(states);
  const auto kept = hn::Set(floats, keptFactor);
  const auto added = hn::Set(floats, addedFactor);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    part.put(
        hn::MulAdd(kept, part.get(state + i), hn::Mul(added, part.get(x + i))),
        state + i);
    part.put(part.get(state + i), out + i);
  });
}

template <typename From, typename To>
void addTo(const void *xs, void *ys, int64_t count) {
  const auto *x = static_cast<const From *>(xs);
  auto *y = static_cast<To *>(ys);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    part.put(hn::Add(part.get(y + i), part.get(x + i)), y + i);
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runAdamWLoop(const AdamWCoefficients &coefficients,
                  llvm::ArrayRef<float> factors, DType gradientType,
                  DType weightType, const void *gradient, void *weight,
                  float *m, float *v, int64_t count) {
  MF_LOOP_OF_TWO(gradientType, weightType,
                 adamW)(coefficients, factors, gradient, weight, m, v, count);
}

void runMomentumLoop(const MomentumCoefficients &coefficients,
                     llvm::ArrayRef<float> factors, DType gradientType,
                     DType directionType, const void *gradient, float *m,
                     void *direction, int64_t count) {
  MF_LOOP_OF_TWO(gradientType, directionType, addMomentum)(
      coefficients, factors, gradient, m, direction, count);
}

void runStepLoop(float decay, float stepSize, DType directionType,
                 DType weightType, const void *direction, void *weight,
                 int64_t count) {
  MF_LOOP_OF_TWO(directionType, weightType, takeStep)(decay, stepSize,
                                                      direction, weight, count);
}

void runAverageLoop(const AverageCoefficients &coefficients, DType weightType,
                    void *weight, float *averages, int64_t count) {
  MF_LOOP_OF(weightType, addToAverage)(coefficients, weight, averages, count);
}

void runGradientLoop(llvm::ArrayRef<float> factors, DType gradientType,
                     const void *gradient, float *out, int64_t count) {
  MF_LOOP_OF(gradientType, takeGradient)(factors, gradient, out, count);
}

void runStateLoop(float kept, float added, DType stateType, const float *x,
                  void *state, float *out, int64_t count) {
  MF_LOOP_OF(stateType, updateState)(kept, added, x, state, out, count);
}

void runAddToLoop(DType xType, DType yType, const void *x, void *y,
                  int64_t count) {
  MF_LOOP_OF_TWO(xType, yType, addTo)(x, y, count);
}

} // namespace mf
#endif // HWY_ONCE
