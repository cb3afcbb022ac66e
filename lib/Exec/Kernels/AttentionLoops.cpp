//===- AttentionLoops.cpp - Rows of a block of attention scores -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "AttentionLoops.h"
#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/AttentionLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "Simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

HWY_INLINE int64_t countVisible(const ScoreBlock &block, int64_t row) {
  return std::clamp<int64_t>(block.visible + row * block.visiblePerRow, 0,
                             block.columns);
}

/// The last vector of a row of scores. Rows are far enough apart that it can be
/// read and written as a whole.
struct PaddedVector {
  int64_t count;

  template <typename T> HWY_INLINE FloatVector get(const T *from) const {
    return load(from);
  }
  template <typename T> HWY_INLINE void put(FloatVector value, T *to) const {
    store(value, to);
  }
  HWY_INLINE FloatVector only(FloatVector value, float other) const {
    return hn::IfThenElse(firstLanes(count), value, hn::Set(floats, other));
  }
};

template <typename Visit>
HWY_INLINE void forEachPaddedVector(int64_t count, const Visit &visit) {
  const int64_t lanes = getLanes();
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    visit(i, WholeVector());
  if (i < count)
    visit(i, PaddedVector{count - i});
}

/// Writes zeros after the vectors that hold the first `count` elements.
template <typename T>
HWY_INLINE void clearBehind(T *row, int64_t count, int64_t columns) {
  const int64_t lanes = getLanes();
  for (int64_t i = (count + lanes - 1) / lanes * lanes; i < columns; i += lanes)
    store(hn::Zero(floats), row + i);
}

HWY_INLINE float exponentialOf(float x) {
  return hn::GetLane(exponential(hn::Set(floats, x)));
}

/// Returns the factor that must still be applied to the scores of a row. With a
/// slope, the row first becomes scale * score + bias, so that later loops need
/// not handle slopes.
HWY_INLINE float addPositions(const ScoreBlock &block, int64_t row,
                              int64_t visible) {
  if (block.slope == 0)
    return block.scale;
  float *scores = block.scores + row * block.stride;
  const auto scale = hn::Set(floats, block.scale);
  const auto slope = hn::Set(floats, block.slope);
  forEachPaddedVector(visible, [&](int64_t i, auto part) HWY_ATTR {
    auto distance =
        hn::Iota(floats, static_cast<float>(block.distance + i - row));
    auto bias = hn::Mul(slope, distance);
    part.put(hn::MulAdd(part.get(scores + i), scale, bias), scores + i);
  });
  return 1;
}

template <typename T>
void softmax(const ScoreBlock &block, float *max, float *sum, float *result,
             int64_t width) {
  for (int64_t row = 0; row < block.rows; ++row) {
    float *scores = block.scores + row * block.stride;
    T *probabilities = reinterpret_cast<T *>(scores);
    const int64_t visible = countVisible(block, row);
    const auto scale = hn::Set(floats, addPositions(block, row, visible));
    auto largest = hn::Set(floats, max[row]);
    forEachPaddedVector(visible, [&](int64_t i, auto part) HWY_ATTR {
      auto score = hn::Mul(part.get(scores + i), scale);
      largest = hn::Max(largest, part.only(score, max[row]));
    });
    const float newMax = maxOfLanes(largest);
    const auto shift = hn::Set(floats, newMax);
    auto added = hn::Zero(floats);
    forEachPaddedVector(visible, [&](int64_t i, auto part) HWY_ATTR {
      auto score = part.get(scores + i);
      auto e = part.only(exponential(hn::MulSub(score, scale, shift)), 0);
      added = hn::Add(added, e);
      part.put(e, probabilities + i);
    });
    clearBehind(probabilities, visible, block.columns);
    if (newMax != max[row]) {
      const float correction = exponentialOf(max[row] - newMax);
      const auto factor = hn::Set(floats, correction);
      float *sums = result + row * width;
      forEachVector(width, [&](int64_t i, auto part) HWY_ATTR {
        part.put(hn::Mul(part.get(sums + i), factor), sums + i);
      });
      sum[row] *= correction;
      max[row] = newMax;
    }
    sum[row] += sumOfLanes(added);
  }
}

template <typename T>
void softmaxGrad(const ScoreBlock &block, float *gradients, const float *max,
                 const float *sum, const float *delta) {
  const auto scale = hn::Set(floats, block.scale);
  for (int64_t row = 0; row < block.rows; ++row) {
    float *scores = block.scores + row * block.stride;
    float *slopes = gradients + row * block.stride;
    T *probabilities = reinterpret_cast<T *>(scores);
    T *scoreGradients = reinterpret_cast<T *>(slopes);
    const int64_t visible = countVisible(block, row);
    const auto scoreScale = hn::Set(floats, addPositions(block, row, visible));
    const auto shift = hn::Set(floats, max[row]);
    const auto norm = hn::Set(floats, 1.0f / sum[row]);
    const auto mean = hn::Set(floats, delta[row]);
    forEachPaddedVector(visible, [&](int64_t i, auto part) HWY_ATTR {
      auto e = exponential(hn::MulSub(part.get(scores + i), scoreScale, shift));
      auto p = part.only(hn::Mul(e, norm), 0);
      auto slope = hn::Mul(hn::Sub(part.get(slopes + i), mean), scale);
      part.put(p, probabilities + i);
      part.put(part.only(hn::Mul(p, slope), 0), scoreGradients + i);
    });
    clearBehind(probabilities, visible, block.columns);
    clearBehind(scoreGradients, visible, block.columns);
  }
}

template <typename T>
void rowProducts(const void *as, const void *bs, float *delta, int64_t rows,
                 int64_t columns) {
  const T *a = static_cast<const T *>(as);
  const T *b = static_cast<const T *>(bs);
  for (int64_t row = 0; row < rows; ++row, a += columns, b += columns) {
    auto products = hn::Zero(floats);
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      products = hn::MulAdd(part.get(a + i), part.get(b + i), products);
    });
    delta[row] = sumOfLanes(products);
  }
}

template <typename T>
void divideRows(const float *x, const float *divisor, void *ys, int64_t rows,
                int64_t columns) {
  T *y = static_cast<T *>(ys);
  for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const auto factor = hn::Set(floats, 1.0f / divisor[row]);
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      part.put(hn::Mul(part.get(x + i), factor), y + i);
    });
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runAttentionSoftmax(DType type, const ScoreBlock &block, float *max,
                         float *sum, float *result, int64_t width) {
  MF_LOOP_OF(type, softmax)(block, max, sum, result, width);
}

void runAttentionSoftmaxGrad(DType type, const ScoreBlock &block,
                             float *gradients, const float *max,
                             const float *sum, const float *delta) {
  MF_LOOP_OF(type, softmaxGrad)(block, gradients, max, sum, delta);
}

void runRowProducts(DType type, const void *a, const void *b, float *delta,
                    int64_t rows, int64_t columns) {
  MF_LOOP_OF(type, rowProducts)(a, b, delta, rows, columns);
}

void runDivideRows(DType type, const float *x, const float *divisor, void *y,
                   int64_t rows, int64_t columns) {
  MF_LOOP_OF(type, divideRows)(x, divisor, y, rows, columns);
}

} // namespace mf
#endif // HWY_ONCE
