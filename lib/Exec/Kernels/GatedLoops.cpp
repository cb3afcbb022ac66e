//===- GatedLoops.cpp - Rows of SwiGLU and rotary embedding ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HighwayTargets.h"
#include "LoopDispatch.h"
#include "RowLoops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Exec/Kernels/GatedLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "VectorPairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

template <typename T>
void swiGluOfType(const void *xs, void *ys, int64_t rows, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  T *y = static_cast<T *>(ys);
  for (int64_t row = 0; row < rows; ++row, x += 2 * columns, y += columns)
    mapVectors<T>(
        columns,
        [](FloatVector gate, FloatVector up) HWY_ATTR {
          return hn::Mul(hn::Mul(gate, sigmoidOfNumber(gate)), up);
        },
        y, x, x + columns);
}

template <typename T>
void swiGluGradOfType(const void *dys, const void *xs, void *dxs, int64_t rows,
                      int64_t columns) {
  const T *dy = static_cast<const T *>(dys);
  const T *x = static_cast<const T *>(xs);
  T *dx = static_cast<T *>(dxs);
  auto gradients = [](FloatVector gradient, FloatVector gate,
                      FloatVector up) HWY_ATTR {
    const auto one = hn::Set(floats, 1.0f);
    auto s = sigmoidOfNumber(gate);
    auto slope = hn::Mul(s, hn::MulAdd(gate, hn::Sub(one, s), one));
    return TwoResults{hn::Mul(hn::Mul(gradient, up), slope),
                      hn::Mul(gradient, hn::Mul(gate, s))};
  };
  for (int64_t row = 0; row < rows; ++row) {
    mapVectorsToTwo<T>(columns, gradients, dx, dx + columns, dy, x,
                       x + columns);
    dy += columns;
    x += 2 * columns;
    dx += 2 * columns;
  }
}

template <typename T, typename Table>
void rotaryOfType(const void *xs, const void *cosines, const void *sines,
                  void *ys, int64_t rows, int64_t columns, bool backward) {
  const T *x = static_cast<const T *>(xs);
  const Table *cos = static_cast<const Table *>(cosines);
  const Table *sin = static_cast<const Table *>(sines);
  T *y = static_cast<T *>(ys);
  const int64_t half = columns / 2;
  // Each product is rounded as by separate operators, so the bits are those of
  // the operators that this one replaces.
  auto turn = [&](FloatVector a, FloatVector b, FloatVector cosA,
                  FloatVector cosB, FloatVector sinA,
                  FloatVector sinB) HWY_ATTR {
    if (backward)
      return TwoResults{hn::Add(hn::Mul(a, cosA), hn::Mul(b, sinB)),
                        hn::Sub(hn::Mul(b, cosB), hn::Mul(a, sinA))};
    return TwoResults{hn::Sub(hn::Mul(a, cosA), hn::Mul(b, sinA)),
                      hn::Add(hn::Mul(b, cosB), hn::Mul(a, sinB))};
  };
  for (int64_t row = 0; row < rows; ++row) {
    mapVectorsToTwo<T>(half, turn, y, y + half, x, x + half, cos, cos + half,
                       sin, sin + half);
    x += columns;
    cos += columns;
    sin += columns;
    y += columns;
  }
}

void swiGlu(DType type, const void *x, void *y, int64_t rows, int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    swiGluOfType<T>(x, y, rows, columns);
  });
}

void swiGluGrad(DType type, const void *dy, const void *x, void *dx,
                int64_t rows, int64_t columns) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    swiGluGradOfType<T>(dy, x, dx, rows, columns);
  });
}

void rotary(DType type, DType tableType, const void *x, const void *cos,
            const void *sin, void *y, int64_t rows, int64_t columns,
            bool backward) {
  dispatchFloat(type, [&](auto *element) HWY_ATTR {
    using T = std::remove_pointer_t<decltype(element)>;
    if (tableType == DType::F32)
      rotaryOfType<T, float>(x, cos, sin, y, rows, columns, backward);
    else
      rotaryOfType<T, T>(x, cos, sin, y, rows, columns, backward);
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runSwiGluRows(DType type, const void *x, void *y, int64_t rows,
                   int64_t columns) {
  MF_LOOP(swiGlu)(type, x, y, rows, columns);
}

void runSwiGluGradRows(DType type, const void *dy, const void *x, void *dx,
                       int64_t rows, int64_t columns) {
  MF_LOOP(swiGluGrad)(type, dy, x, dx, rows, columns);
}

void runRotaryRows(DType type, DType tableType, const void *x, const void *cos,
                   const void *sin, void *y, int64_t rows, int64_t columns,
                   bool backward) {
  MF_LOOP(rotary)
  (type, tableType, x, cos, sin, y, rows, columns, backward);
}

} // namespace mf
#endif // HWY_ONCE
