//===- ReduceLoops.cpp - Vectorised sums and searches ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReduceLoops.h"
#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/ReduceLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "VectorPairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

struct Identity {
  HWY_INLINE FloatVector operator()(FloatVector x) const { return x; }
};

template <typename T> struct SquareOfProduct {
  llvm::ArrayRef<float> factors;

  HWY_INLINE FloatVector operator()(FloatVector x) const {
    auto product = multiplied<T>(x, factors);
    return hn::Mul(product, product);
  }
};

/// Returns the sum of function(x). Four vectors of sums are added in a fixed
/// order.
template <typename T, typename Function>
HWY_INLINE float sumOf(const T *x, int64_t count, Function function) {
  const int64_t lanes = getLanes();
  auto a = hn::Zero(floats), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, function(load(x + i)));
    b = hn::Add(b, function(load(x + i + lanes)));
    c = hn::Add(c, function(load(x + i + 2 * lanes)));
    d = hn::Add(d, function(load(x + i + 3 * lanes)));
  }
  for (; i + lanes <= count; i += lanes)
    a = hn::Add(a, function(load(x + i)));
  if (i < count)
    b = hn::Add(b, function(loadTail(x + i, count - i)));
  return sumOfLanes(hn::Add(hn::Add(a, b), hn::Add(c, d)));
}

HWY_INLINE FloatPair addPairs(FloatPair a, FloatPair b) {
  return {hn::Add(a.first, b.first), hn::Add(a.second, b.second)};
}

template <typename T>
void accumulateRows(const void *xs, int64_t stride, int64_t rows, float *sums,
                    int64_t count) {
  using Pairs = PairsOf<T>;
  const T *x = static_cast<const T *>(xs);
  const int64_t lanes = getLanes();
  int64_t i = 0;
  if constexpr (goesInPairs)
    // Eight vectors of sums stay in registers.
    for (; i + 8 * lanes <= count; i += 8 * lanes) {
      float *to = sums + i;
      FloatPair a = Pairs::load(to), b = Pairs::load(to + 2 * lanes);
      FloatPair c = Pairs::load(to + 4 * lanes),
                d = Pairs::load(to + 6 * lanes);
      for (int64_t row = 0; row < rows; ++row) {
        const T *from = x + row * stride + i;
        a = addPairs(a, Pairs::load(from));
        b = addPairs(b, Pairs::load(from + 2 * lanes));
        c = addPairs(c, Pairs::load(from + 4 * lanes));
        d = addPairs(d, Pairs::load(from + 6 * lanes));
      }
      Pairs::store(a, to);
      Pairs::store(b, to + 2 * lanes);
      Pairs::store(c, to + 4 * lanes);
      Pairs::store(d, to + 6 * lanes);
    }
  forEachVector(count - i, [&](int64_t j, auto part) HWY_ATTR {
    auto sum = part.get(sums + i + j);
    for (int64_t row = 0; row < rows; ++row)
      sum = hn::Add(sum, part.get(x + row * stride + i + j));
    part.put(sum, sums + i + j);
  });
}

/// Computes cumulative sums along the last dimension, in blocks that are summed
/// in f32.
template <typename T> void cumsumOfRow(const T *x, T *y, int64_t length) {
  constexpr int64_t block = 256;
  float wide[block];
  float sum = 0;
  for (int64_t begin = 0; begin < length; begin += block) {
    const int64_t count = std::min(block, length - begin);
    forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
      part.put(part.get(x + begin + i), wide + i);
    });
    for (int64_t i = 0; i < count; ++i)
      wide[i] = sum += wide[i];
    forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
      part.put(part.get(wide + i), y + begin + i);
    });
  }
}

/// Computes cumulative sums of four neighbouring vectors, which stay in
/// registers.
template <typename T>
HWY_INLINE void cumsumOfVectors(const T *x, T *y, int64_t length,
                                int64_t stride) {
  const int64_t lanes = getLanes();
  auto a = hn::Zero(floats), b = a, c = a, d = a;
  for (int64_t row = 0; row < length; ++row, x += stride, y += stride) {
    a = hn::Add(a, load(x));
    b = hn::Add(b, load(x + lanes));
    c = hn::Add(c, load(x + 2 * lanes));
    d = hn::Add(d, load(x + 3 * lanes));
    store(a, y);
    store(b, y + lanes);
    store(c, y + 2 * lanes);
    store(d, y + 3 * lanes);
  }
}

template <typename T>
void cumsum(const void *xs, void *ys, int64_t length, int64_t stride,
            int64_t width) {
  const T *x = static_cast<const T *>(xs);
  T *y = static_cast<T *>(ys);
  if (stride == 1)
    return cumsumOfRow(x, y, length);
  const int64_t four = 4 * getLanes();
  int64_t begin = 0;
  for (; begin + four <= width; begin += four)
    cumsumOfVectors(x + begin, y + begin, length, stride);
  forEachVector(width - begin, [&](int64_t i, auto part) HWY_ATTR {
    auto sum = hn::Zero(floats);
    for (int64_t row = 0; row < length; ++row) {
      const int64_t place = row * stride + begin + i;
      sum = hn::Add(sum, part.get(x + place));
      part.put(sum, y + place);
    }
  });
}

template <typename T> float sum(const void *x, int64_t count) {
  return sumOf(static_cast<const T *>(x), count, Identity());
}

template <typename T>
float sumOfSquares(const void *x, int64_t count,
                   llvm::ArrayRef<float> factors) {
  return sumOf(static_cast<const T *>(x), count, SquareOfProduct<T>{factors});
}

template <typename T> bool nonFinite(const void *xs, int64_t count) {
  const T *x = static_cast<const T *>(xs);
  const auto largest = hn::Set(floats, std::numeric_limits<float>::max());
  bool found = false;
  forEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    // False for NaN too.
    auto isFinite = hn::Le(hn::Abs(part.get(x + i)), largest);
    found |= !hn::AllTrue(floats, isFinite);
  });
  return found;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runAccumulateLoop(DType type, const void *x, float *sums, int64_t count) {
  runAccumulateRowsLoop(type, x, count, 1, sums, count);
}

void runAccumulateRowsLoop(DType type, const void *x, int64_t stride,
                           int64_t rows, float *sums, int64_t count) {
  MF_LOOP_OF(type, accumulateRows)(x, stride, rows, sums, count);
}

void runCumsumLoop(DType type, const void *x, void *y, int64_t length,
                   int64_t stride, int64_t width) {
  MF_LOOP_OF(type, cumsum)(x, y, length, stride, width);
}

float runSumLoop(DType type, const void *x, int64_t count) {
  return MF_LOOP_OF(type, sum)(x, count);
}

float runSumOfSquaresLoop(DType type, const void *x, int64_t count,
                          llvm::ArrayRef<float> factors) {
  return MF_LOOP_OF(type, sumOfSquares)(x, count, factors);
}

bool runNonFiniteLoop(DType type, const void *x, int64_t count) {
  return MF_LOOP_OF(type, nonFinite)(x, count);
}

} // namespace mf
#endif // HWY_ONCE
