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
void adamWOfTypes(const AdamWCoefficients &coefficients,
                  llvm::ArrayRef<float> factors, const Gradient *g, Weight *w,
                  float *m, float *v, int64_t count) {
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
void momentumOfTypes(const MomentumCoefficients &coefficients,
                     llvm::ArrayRef<float> factors, const Gradient *g, float *m,
                     Direction *direction, int64_t count) {
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
void stepOfTypes(float decayFactor, float size, const Direction *direction,
                 Weight *w, int64_t count) {
  const auto decay = hn::Set(floats, decayFactor);
  const auto stepSize = hn::Set(floats, size);
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    auto step = hn::Mul(stepSize, part.get(direction + i));
    part.put(hn::Sub(hn::Mul(decay, part.get(w + i)), step), w + i);
  });
}

template <typename Weight>
void averageOfType(const AverageCoefficients &coefficients, Weight *w,
                   float *average, int64_t count) {
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
void gradientOfType(llvm::ArrayRef<float> factors, const Gradient *g,
                    float *out, int64_t count) {
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    part.put(multiplied<Gradient>(part.get(g + i), factors), out + i);
  });
}

template <typename State>
void stateOfType(float keptFactor, float addedFactor, const float *x,
                 State *state, float *out, int64_t count) {
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
void addToOfTypes(const From *x, To *y, int64_t count) {
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    part.put(hn::Add(part.get(y + i), part.get(x + i)), y + i);
  });
}

void adamW(const AdamWCoefficients &coefficients, llvm::ArrayRef<float> factors,
           DType gradientType, DType weightType, const void *gradient,
           void *weight, float *m, float *v, int64_t count) {
  dispatchFloat(gradientType, [&](auto *g) HWY_ATTR {
    using Gradient = std::remove_pointer_t<decltype(g)>;
    dispatchFloat(weightType, [&](auto *w) HWY_ATTR {
      using Weight = std::remove_pointer_t<decltype(w)>;
      adamWOfTypes(coefficients, factors,
                   static_cast<const Gradient *>(gradient),
                   static_cast<Weight *>(weight), m, v, count);
    });
  });
}

void momentum(const MomentumCoefficients &coefficients,
              llvm::ArrayRef<float> factors, DType gradientType,
              DType directionType, const void *gradient, float *m,
              void *direction, int64_t count) {
  dispatchFloat(gradientType, [&](auto *g) HWY_ATTR {
    using Gradient = std::remove_pointer_t<decltype(g)>;
    dispatchFloat(directionType, [&](auto *d) HWY_ATTR {
      using Direction = std::remove_pointer_t<decltype(d)>;
      momentumOfTypes(coefficients, factors,
                      static_cast<const Gradient *>(gradient), m,
                      static_cast<Direction *>(direction), count);
    });
  });
}

void takeStep(float decay, float stepSize, DType directionType,
              DType weightType, const void *direction, void *weight,
              int64_t count) {
  dispatchFloat(directionType, [&](auto *d) HWY_ATTR {
    using Direction = std::remove_pointer_t<decltype(d)>;
    dispatchFloat(weightType, [&](auto *w) HWY_ATTR {
      using Weight = std::remove_pointer_t<decltype(w)>;
      stepOfTypes(decay, stepSize, static_cast<const Direction *>(direction),
                  static_cast<Weight *>(weight), count);
    });
  });
}

void average(const AverageCoefficients &coefficients, DType weightType,
             void *weight, float *averages, int64_t count) {
  dispatchFloat(weightType, [&](auto *w) HWY_ATTR {
    using Weight = std::remove_pointer_t<decltype(w)>;
    averageOfType(coefficients, static_cast<Weight *>(weight), averages, count);
  });
}

void takeGradient(llvm::ArrayRef<float> factors, DType gradientType,
                  const void *gradient, float *out, int64_t count) {
  dispatchFloat(gradientType, [&](auto *g) HWY_ATTR {
    using Gradient = std::remove_pointer_t<decltype(g)>;
    gradientOfType(factors, static_cast<const Gradient *>(gradient), out,
                   count);
  });
}

void updateState(float kept, float added, DType stateType, const float *x,
                 void *state, float *out, int64_t count) {
  dispatchFloat(stateType, [&](auto *s) HWY_ATTR {
    using State = std::remove_pointer_t<decltype(s)>;
    stateOfType(kept, added, x, static_cast<State *>(state), out, count);
  });
}

void addTo(DType xType, DType yType, const void *xs, void *ys, int64_t count) {
  dispatchFloat(xType, [&](auto *x) HWY_ATTR {
    using From = std::remove_pointer_t<decltype(x)>;
    dispatchFloat(yType, [&](auto *y) HWY_ATTR {
      using To = std::remove_pointer_t<decltype(y)>;
      addToOfTypes(static_cast<const From *>(xs), static_cast<To *>(ys), count);
    });
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
  MF_LOOP(adamW)
  (coefficients, factors, gradientType, weightType, gradient, weight, m, v,
   count);
}

void runMomentumLoop(const MomentumCoefficients &coefficients,
                     llvm::ArrayRef<float> factors, DType gradientType,
                     DType directionType, const void *gradient, float *m,
                     void *direction, int64_t count) {
  MF_LOOP(momentum)
  (coefficients, factors, gradientType, directionType, gradient, m, direction,
   count);
}

void runStepLoop(float decay, float stepSize, DType directionType,
                 DType weightType, const void *direction, void *weight,
                 int64_t count) {
  MF_LOOP(takeStep)
  (decay, stepSize, directionType, weightType, direction, weight, count);
}

void runAverageLoop(const AverageCoefficients &coefficients, DType weightType,
                    void *weight, float *averages, int64_t count) {
  MF_LOOP(average)
  (coefficients, weightType, weight, averages, count);
}

void runGradientLoop(llvm::ArrayRef<float> factors, DType gradientType,
                     const void *gradient, float *out, int64_t count) {
  MF_LOOP(takeGradient)
  (factors, gradientType, gradient, out, count);
}

void runStateLoop(float kept, float added, DType stateType, const float *x,
                  void *state, float *out, int64_t count) {
  MF_LOOP(updateState)
  (kept, added, stateType, x, state, out, count);
}

void runAddToLoop(DType xType, DType yType, const void *x, void *y,
                  int64_t count) {
  MF_LOOP(addTo)(xType, yType, x, y, count);
}

} // namespace mf
#endif // HWY_ONCE
