//===- NormLoops.cpp - Rows of RMS and layer normalisation ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include "RowLoops.h"
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/NormLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "VectorPairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

template <typename T>
void rmsNorm(const void *xs, const float *gamma, void *ys, float *rstd,
             int64_t rows, int64_t columns, float epsilon) {
  const T *x = static_cast<const T *>(xs);
  T *y = static_cast<T *>(ys);
  for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    auto squares = foldVectors<T>(
        columns, hn::Zero(floats),
        [](FloatVector sum, FloatVector value)
            HWY_ATTR { return hn::MulAdd(value, value, sum); },
        JoinSums(), x);
    float mean = sumOfLanes(squares) / static_cast<float>(columns);
    rstd[row] = 1.0f / std::sqrt(mean + epsilon);
    auto scale = hn::Set(floats, rstd[row]);
    mapVectors<T>(
        columns,
        [&](FloatVector value, FloatVector factor)
            HWY_ATTR { return hn::Mul(hn::Mul(value, scale), factor); },
        y, x, gamma);
  }
}

template <typename T>
void rmsNormGrad(const void *dys, const void *xs, const float *rstd,
                 const float *gamma, void *dxs, float *gammaGradient,
                 int64_t rows, int64_t columns) {
  const T *dy = static_cast<const T *>(dys);
  const T *x = static_cast<const T *>(xs);
  T *dx = static_cast<T *>(dxs);
  for (int64_t row = 0; row < rows; ++row) {
    // With n = x * rstd and g = dy * gamma: dx = rstd (g - n mean(g n)).
    auto scale = hn::Set(floats, rstd[row]);
    auto products = foldVectors<T>(
        columns, hn::Zero(floats),
        [&](FloatVector sum, FloatVector value, FloatVector gradient,
            FloatVector factor) HWY_ATTR {
          auto slope = hn::Mul(gradient, hn::Mul(value, scale));
          return hn::MulAdd(slope, factor, sum);
        },
        JoinSums(), x, dy, gamma);
    auto mean =
        hn::Set(floats, sumOfLanes(products) / static_cast<float>(columns));
    mapVectorsToTwo<T>(
        columns,
        [&](FloatVector value, FloatVector gradient, FloatVector factor,
            FloatVector sum) HWY_ATTR {
          auto normal = hn::Mul(value, scale);
          auto g = hn::Mul(gradient, factor);
          return TwoResults{hn::Mul(scale, hn::NegMulAdd(normal, mean, g)),
                            hn::Add(sum, hn::Mul(gradient, normal))};
        },
        dx, gammaGradient, x, dy, gamma, gammaGradient);
    dy += columns;
    x += columns;
    dx += columns;
  }
}

template <typename T>
void layerNorm(const void *xs, const float *weight, const float *bias, void *ys,
               float *means, float *rstd, int64_t rows, int64_t columns,
               float epsilon) {
  const T *x = static_cast<const T *>(xs);
  T *y = static_cast<T *>(ys);
  const auto width = static_cast<float>(columns);
  for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    auto sums = foldVectors<T>(
        columns, hn::Zero(floats),
        [](FloatVector sum, FloatVector value)
            HWY_ATTR { return hn::Add(sum, value); },
        JoinSums(), x);
    means[row] = sumOfLanes(sums) / width;
    auto mean = hn::Set(floats, means[row]);
    auto squares = foldVectors<T>(
        columns, hn::Zero(floats),
        [&](FloatVector sum, FloatVector value) HWY_ATTR {
          auto difference = hn::Sub(value, mean);
          return hn::MulAdd(difference, difference, sum);
        },
        JoinSums(), x);
    rstd[row] = 1.0f / std::sqrt(sumOfLanes(squares) / width + epsilon);
    auto scale = hn::Set(floats, rstd[row]);
    mapVectors<T>(
        columns,
        [&](FloatVector value, FloatVector factor, FloatVector summand)
            HWY_ATTR {
              auto normal = hn::Mul(hn::Sub(value, mean), scale);
              return hn::MulAdd(normal, factor, summand);
            },
        y, x, weight, bias);
  }
}

template <typename T>
void addBiasGradient(int64_t columns, const T *dy, float *biasGradient) {
  mapVectors<float>(
      columns,
      [](FloatVector gradient, FloatVector sum)
          HWY_ATTR { return hn::Add(sum, gradient); },
      biasGradient, dy, biasGradient);
}

template <typename T>
void layerNormBackward(const void *dys, const void *xs, const float *means,
                       const float *rstd, const float *weight, void *dxs,
                       float *weightGradient, float *biasGradient, int64_t rows,
                       int64_t columns) {
  const T *dy = static_cast<const T *>(dys);
  const T *x = static_cast<const T *>(xs);
  T *dx = static_cast<T *>(dxs);
  const auto width = static_cast<float>(columns);
  for (int64_t row = 0; row < rows; ++row) {
    // With n = (x - mean) rstd and g = dy weight:
    // dx = rstd (g - mean(g) - n mean(g n)).
    auto mean = hn::Set(floats, means[row]);
    auto scale = hn::Set(floats, rstd[row]);
    auto slopes = foldVectors<T>(
        columns, hn::Zero(floats),
        [](FloatVector sum, FloatVector gradient, FloatVector factor)
            HWY_ATTR { return hn::MulAdd(gradient, factor, sum); },
        JoinSums(), dy, weight);
    auto products = foldVectors<T>(
        columns, hn::Zero(floats),
        [&](FloatVector sum, FloatVector value, FloatVector gradient,
            FloatVector factor) HWY_ATTR {
          auto normal = hn::Mul(hn::Sub(value, mean), scale);
          return hn::MulAdd(hn::Mul(gradient, normal), factor, sum);
        },
        JoinSums(), x, dy, weight);
    auto meanSlope = hn::Set(floats, sumOfLanes(slopes) / width);
    auto meanProduct = hn::Set(floats, sumOfLanes(products) / width);
    auto getInputGradient = [&](FloatVector normal, FloatVector gradient,
                                FloatVector factor) HWY_ATTR {
      auto g = hn::Sub(hn::Mul(gradient, factor), meanSlope);
      return hn::Mul(scale, hn::NegMulAdd(normal, meanProduct, g));
    };
    auto normalize = [&](FloatVector value) HWY_ATTR {
      return hn::Mul(hn::Sub(value, mean), scale);
    };
    if (weightGradient) {
      addBiasGradient(columns, dy, biasGradient);
      mapVectorsToTwo<T>(
          columns,
          [&](FloatVector value, FloatVector gradient, FloatVector factor,
              FloatVector sum) HWY_ATTR {
            auto normal = normalize(value);
            return TwoResults{getInputGradient(normal, gradient, factor),
                              hn::Add(sum, hn::Mul(gradient, normal))};
          },
          dx, weightGradient, x, dy, weight, weightGradient);
    } else {
      mapVectors<T>(
          columns,
          [&](FloatVector value, FloatVector gradient, FloatVector factor)
              HWY_ATTR {
                return getInputGradient(normalize(value), gradient, factor);
              },
          dx, x, dy, weight);
    }
    dy += columns;
    x += columns;
    dx += columns;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runRmsNormRows(DType type, const void *x, const float *gamma, void *y,
                    float *rstd, int64_t rows, int64_t columns, float epsilon) {
  MF_LOOP_OF(type, rmsNorm)(x, gamma, y, rstd, rows, columns, epsilon);
}

void runRmsNormGradRows(DType type, const void *dy, const void *x,
                        const float *rstd, const float *gamma, void *dx,
                        float *gammaGradient, int64_t rows, int64_t columns) {
  MF_LOOP_OF(type, rmsNormGrad)(dy, x, rstd, gamma, dx, gammaGradient, rows,
                                columns);
}

void runLayerNormRows(DType type, const void *x, const float *weight,
                      const float *bias, void *y, float *mean, float *rstd,
                      int64_t rows, int64_t columns, float epsilon) {
  MF_LOOP_OF(type, layerNorm)(x, weight, bias, y, mean, rstd, rows, columns,
                              epsilon);
}

void runLayerNormBackwardRows(DType type, const void *dy, const void *x,
                              const float *mean, const float *rstd,
                              const float *weight, void *dx,
                              float *weightGradient, float *biasGradient,
                              int64_t rows, int64_t columns) {
  MF_LOOP_OF(type, layerNormBackward)(dy, x, mean, rstd, weight, dx,
                                      weightGradient, biasGradient, rows,
                                      columns);
}

} // namespace mf
#endif // HWY_ONCE
