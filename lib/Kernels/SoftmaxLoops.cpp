//===- SoftmaxLoops.cpp - Rows of softmax and cross entropy ---------------===//

#include "HighwayTargets.h"
#include "RowLoops.h"
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Kernels/SoftmaxLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "Simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

constexpr float lowest = -std::numeric_limits<float>::infinity();

template <typename T> HWY_INLINE float getRowMax(const T *x, int64_t columns) {
  auto largest = hn::Set(floats, lowest);
  forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
    largest = hn::Max(largest, part.only(part.get(x + i), lowest));
  });
  return maxOfLanes(largest);
}

/// sum(exp(x - max))
template <typename T>
HWY_INLINE float getExponentialSum(const T *x, int64_t columns, float max) {
  auto shift = hn::Set(floats, max);
  auto sum = hn::Zero(floats);
  forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
    auto e = exponential(hn::Sub(part.get(x + i), shift));
    sum = hn::Add(sum, part.only(e, 0));
  });
  return sumOfLanes(sum);
}

template <typename T>
void softmaxOfType(const void *xs, void *ys, int64_t rows, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  T *y = static_cast<T *>(ys);
  for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    float max = getRowMax(x, columns);
    auto shift = hn::Set(floats, max);
    auto scale = hn::Set(floats, 1.0f / getExponentialSum(x, columns, max));
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      auto e = exponential(hn::Sub(part.get(x + i), shift));
      part.put(hn::Mul(e, scale), y + i);
    });
  }
}

template <typename T>
void softmaxBackwardOfType(const void *dys, const void *ys, void *dxs,
                           int64_t rows, int64_t columns) {
  const T *dy = static_cast<const T *>(dys);
  const T *y = static_cast<const T *>(ys);
  T *dx = static_cast<T *>(dxs);
  for (int64_t row = 0; row < rows; ++row) {
    auto products = hn::Zero(floats);
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      products = hn::MulAdd(part.get(dy + i), part.get(y + i), products);
    });
    auto sum = hn::Set(floats, sumOfLanes(products));
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      auto difference = hn::Sub(part.get(dy + i), sum);
      part.put(hn::Mul(difference, part.get(y + i)), dx + i);
    });
    dy += columns;
    y += columns;
    dx += columns;
  }
}

template <typename T>
void logSumExpOfType(const void *xs, float *logSumExp, int64_t rows,
                     int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  for (int64_t row = 0; row < rows; ++row, x += columns) {
    float max = getRowMax(x, columns);
    logSumExp[row] = max + std::log(getExponentialSum(x, columns, max));
  }
}

template <typename T>
void rowMaxOfType(const void *xs, float *max, int64_t rows, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  for (int64_t row = 0; row < rows; ++row)
    max[row] = getRowMax(x + row * columns, columns);
}

template <typename T>
void exponentialSumOfType(const void *xs, const float *max, float *sum,
                          int64_t rows, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  for (int64_t row = 0; row < rows; ++row)
    sum[row] = getExponentialSum(x + row * columns, columns, max[row]);
}

template <typename T>
void crossEntropyGradOfType(const void *xs, int64_t label, float logSumExp,
                            float factor, void *dxs, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  T *dx = static_cast<T *>(dxs);
  auto shift = hn::Set(floats, logSumExp);
  auto scale = hn::Set(floats, factor);
  forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
    auto e = exponential(hn::Sub(part.get(x + i), shift));
    part.put(hn::Mul(e, scale), dx + i);
  });
  if (label < 0)
    return;
  // The label's column has its one taken off before rounding.
  auto atLabel = hn::Sub(exponential(hn::Sub(loadTail(x + label, 1), shift)),
                         hn::Set(floats, 1.0f));
  storeTail(hn::Mul(atLabel, scale), dx + label, 1);
}

void softmax(DType type, const void *x, void *y, int64_t rows,
             int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    softmaxOfType<T>(x, y, rows, columns);
  });
}

void softmaxBackward(DType type, const void *dy, const void *y, void *dx,
                     int64_t rows, int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    softmaxBackwardOfType<T>(dy, y, dx, rows, columns);
  });
}

void logSumExpRows(DType type, const void *x, float *logSumExp, int64_t rows,
                   int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    logSumExpOfType<T>(x, logSumExp, rows, columns);
  });
}

void rowMax(DType type, const void *x, float *max, int64_t rows,
            int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    rowMaxOfType<T>(x, max, rows, columns);
  });
}

void exponentialSumRows(DType type, const void *x, const float *max, float *sum,
                        int64_t rows, int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    exponentialSumOfType<T>(x, max, sum, rows, columns);
  });
}

void crossEntropyGrad(DType type, const void *x, int64_t label, float logSumExp,
                      float factor, void *dx, int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    crossEntropyGradOfType<T>(x, label, logSumExp, factor, dx, columns);
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

HWY_EXPORT(softmax);
HWY_EXPORT(softmaxBackward);
HWY_EXPORT(logSumExpRows);
HWY_EXPORT(rowMax);
HWY_EXPORT(exponentialSumRows);
HWY_EXPORT(crossEntropyGrad);

void runSoftmaxRows(DType type, const void *x, void *y, int64_t rows,
                    int64_t columns) {
  HWY_DYNAMIC_DISPATCH(softmax)(type, x, y, rows, columns);
}

void runSoftmaxBackwardRows(DType type, const void *dy, const void *y, void *dx,
                            int64_t rows, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(softmaxBackward)(type, dy, y, dx, rows, columns);
}

void runLogSumExpRows(DType type, const void *x, float *logSumExp, int64_t rows,
                      int64_t columns) {
  HWY_DYNAMIC_DISPATCH(logSumExpRows)(type, x, logSumExp, rows, columns);
}

void runRowMax(DType type, const void *x, float *max, int64_t rows,
               int64_t columns) {
  HWY_DYNAMIC_DISPATCH(rowMax)(type, x, max, rows, columns);
}

void runExponentialSumRows(DType type, const void *x, const float *max,
                           float *sum, int64_t rows, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(exponentialSumRows)(type, x, max, sum, rows, columns);
}

void runCrossEntropyGradRow(DType type, const void *x, int64_t label,
                            float logSumExp, float factor, void *dx,
                            int64_t columns) {
  HWY_DYNAMIC_DISPATCH(crossEntropyGrad)
  (type, x, label, logSumExp, factor, dx, columns);
}

} // namespace mf
#endif // HWY_ONCE
