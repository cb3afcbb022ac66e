//===- SoftmaxLoops.cpp - Rows of softmax and cross entropy ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include "RowLoops.h"
#include "Scratch.h"
#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/SoftmaxLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "VectorPairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

constexpr float lowest = -std::numeric_limits<float>::infinity();

struct JoinMaxima {
  HWY_INLINE FloatVector operator()(FloatVector a, FloatVector b) const {
    return largerOf(a, b);
  }
};

template <typename T> HWY_INLINE float getRowMax(const T *x, int64_t columns) {
  return maxOfLanes(foldVectors<T>(columns, hn::Set(floats, lowest),
                                   JoinMaxima(), JoinMaxima(), x));
}

/// Prefetches elements that are read soon. They need not exist.
template <typename T> HWY_INLINE void prefetch(const T *from, int64_t count) {
  constexpr int intoSecondLevel = 2;
  for (int64_t i = 0; i < count; i += 64 / static_cast<int64_t>(sizeof(T)))
    __builtin_prefetch(from + i, /*rw=*/0, intoSecondLevel);
}

/// Returns sum(exp(x - max)). Meanwhile the row at `next`, if it is not null,
/// is prefetched, because this loop computes more than it reads.
template <typename T>
HWY_INLINE float getExponentialSum(const T *x, int64_t columns, float max,
                                   const T *next) {
  constexpr int64_t block = 256;
  const auto shift = hn::Set(floats, max);
  auto sum = hn::Zero(floats);
  for (int64_t begin = 0; begin < columns; begin += block) {
    const int64_t count = std::min(block, columns - begin);
    if (next)
      prefetch(next + begin, count);
    auto added = foldVectors<T>(
        count, hn::Zero(floats),
        [&](FloatVector before, FloatVector value) HWY_ATTR {
          return hn::Add(before, exponentialBelowOne(hn::Sub(value, shift)));
        },
        JoinSums(), x + begin);
    sum = hn::Add(sum, added);
  }
  return sumOfLanes(sum);
}

template <typename T>
void softmax(const void *xs, void *ys, int64_t rows, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  T *y = static_cast<T *>(ys);
  auto *exponentials = static_cast<float *>(
      getScratch(ScratchUse::Tile, columns * sizeof(float)));
  for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const auto shift = hn::Set(floats, getRowMax(x, columns));
    mapVectors<T>(
        columns,
        [&](FloatVector value)
            HWY_ATTR { return exponentialBelowOne(hn::Sub(value, shift)); },
        exponentials, x);
    const auto sum = foldVectors<float>(columns, hn::Zero(floats), JoinSums(),
                                        JoinSums(), exponentials);
    const auto scale = hn::Set(floats, 1.0f / sumOfLanes(sum));
    mapVectors<T>(
        columns, [&](FloatVector e) HWY_ATTR { return hn::Mul(e, scale); }, y,
        exponentials);
  }
}

template <typename T>
void softmaxBackward(const void *dys, const void *ys, void *dxs, int64_t rows,
                     int64_t columns) {
  const T *dy = static_cast<const T *>(dys);
  const T *y = static_cast<const T *>(ys);
  T *dx = static_cast<T *>(dxs);
  for (int64_t row = 0; row < rows; ++row) {
    const auto products = foldVectors<T>(
        columns, hn::Zero(floats),
        [](FloatVector sum, FloatVector gradient, FloatVector value)
            HWY_ATTR { return hn::MulAdd(gradient, value, sum); },
        JoinSums(), dy, y);
    const auto sum = hn::Set(floats, sumOfLanes(products));
    mapVectors<T>(
        columns,
        [&](FloatVector gradient, FloatVector value)
            HWY_ATTR { return hn::Mul(hn::Sub(gradient, sum), value); },
        dx, dy, y);
    dy += columns;
    y += columns;
    dx += columns;
  }
}

template <typename T>
void logSumExpRows(const void *xs, float *logSumExp, int64_t rows,
                   int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  for (int64_t row = 0; row < rows; ++row, x += columns) {
    const float max = getRowMax(x, columns);
    const T *next = row + 1 < rows ? x + columns : nullptr;
    logSumExp[row] = max + std::log(getExponentialSum(x, columns, max, next));
  }
}

template <typename T>
void rowMax(const void *xs, float *max, int64_t rows, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  for (int64_t row = 0; row < rows; ++row)
    max[row] = getRowMax(x + row * columns, columns);
}

template <typename T>
void exponentials(const void *xs, float shift, float *ys, int64_t columns) {
  const auto shifts = hn::Set(floats, shift);
  mapVectors<T>(
      columns,
      [&](FloatVector value)
          HWY_ATTR { return exponential(hn::Sub(value, shifts)); },
      ys, static_cast<const T *>(xs));
}

template <typename T>
void crossEntropyGrad(const void *xs, int64_t label, float logSumExp,
                      float factor, void *dxs, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  T *dx = static_cast<T *>(dxs);
  auto shift = hn::Set(floats, logSumExp);
  auto scale = hn::Set(floats, factor);
  mapVectors<T>(
      columns,
      [&](FloatVector value) HWY_ATTR {
        return hn::Mul(exponential(hn::Sub(value, shift)), scale);
      },
      dx, x);
  if (label < 0)
    return;
  // The one at the label's column is subtracted before rounding.
  auto atLabel = hn::Sub(exponential(hn::Sub(loadTail(x + label, 1), shift)),
                         hn::Set(floats, 1.0f));
  storeTail(hn::Mul(atLabel, scale), dx + label, 1);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runSoftmaxRows(DType type, const void *x, void *y, int64_t rows,
                    int64_t columns) {
  MF_LOOP_OF(type, softmax)(x, y, rows, columns);
}

void runSoftmaxBackwardRows(DType type, const void *dy, const void *y, void *dx,
                            int64_t rows, int64_t columns) {
  MF_LOOP_OF(type, softmaxBackward)(dy, y, dx, rows, columns);
}

void runLogSumExpRows(DType type, const void *x, float *logSumExp, int64_t rows,
                      int64_t columns) {
  MF_LOOP_OF(type, logSumExpRows)(x, logSumExp, rows, columns);
}

void runRowMax(DType type, const void *x, float *max, int64_t rows,
               int64_t columns) {
  MF_LOOP_OF(type, rowMax)(x, max, rows, columns);
}

void runExponentials(DType type, const void *x, float shift, float *y,
                     int64_t columns) {
  MF_LOOP_OF(type, exponentials)(x, shift, y, columns);
}

void runCrossEntropyGradRow(DType type, const void *x, int64_t label,
                            float logSumExp, float factor, void *dx,
                            int64_t columns) {
  MF_LOOP_OF(type, crossEntropyGrad)(x, label, logSumExp, factor, dx, columns);
}

} // namespace mf
#endif // HWY_ONCE
