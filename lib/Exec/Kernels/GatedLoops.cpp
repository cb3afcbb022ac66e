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
void swiGlu(const void *xs, void *ys, int64_t rows, int64_t columns) {
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
void swiGluGrad(const void *dys, const void *xs, void *dxs, int64_t rows,
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

// Each product is rounded as by separate operators, so the bits are those of
// the operators that this one replaces.

template <typename T, typename Table>
void rotateHalves(const T *x, const Table *cos, const Table *sin, T *y,
                  const RotaryRow &row) {
  const int64_t half = row.rotated / 2;
  auto turn = [&](FloatVector a, FloatVector b, FloatVector cosA,
                  FloatVector cosB, FloatVector sinA,
                  FloatVector sinB) HWY_ATTR {
    if (row.backward)
      return TwoResults{hn::Add(hn::Mul(a, cosA), hn::Mul(b, sinB)),
                        hn::Sub(hn::Mul(b, cosB), hn::Mul(a, sinA))};
    return TwoResults{hn::Sub(hn::Mul(a, cosA), hn::Mul(b, sinA)),
                      hn::Add(hn::Mul(b, cosB), hn::Mul(a, sinB))};
  };
  mapVectorsToTwo<T>(half, turn, y, y + half, x, x + half, cos, cos + half, sin,
                     sin + half);
}

template <typename T, typename Table>
void rotateNeighbours(const T *x, const Table *cos, const Table *sin, T *y,
                      const RotaryRow &row) {
  auto turn = [&](FloatVector value, FloatVector cosine,
                  FloatVector sine) HWY_ATTR {
    auto straight = hn::Mul(value, cosine);
    auto other = hn::Reverse2(floats, value);
    if (row.backward) {
      auto turned = hn::Mul(other, hn::Reverse2(floats, sine));
      return hn::OddEven(hn::Sub(straight, turned), hn::Add(straight, turned));
    }
    auto turned = hn::Mul(other, sine);
    return hn::OddEven(hn::Add(straight, turned), hn::Sub(straight, turned));
  };
  const int64_t lanes = getLanes();
  int64_t i = 0;
  for (; i + lanes <= row.rotated; i += lanes)
    store(turn(load(x + i), load(cos + i), load(sin + i)), y + i);
  if (const int64_t rest = row.rotated - i; rest > 0)
    storeTail(turn(loadTail(x + i, rest), loadTail(cos + i, rest),
                   loadTail(sin + i, rest)),
              y + i, rest);
}

template <typename T, typename Table>
void rotateRows(const void *xs, const void *cosines, const void *sines,
                void *ys, int64_t rows, const RotaryRow &row) {
  const T *x = static_cast<const T *>(xs);
  const Table *cos = static_cast<const Table *>(cosines);
  const Table *sin = static_cast<const Table *>(sines);
  T *y = static_cast<T *>(ys);
  const int64_t end = row.start + row.rotated;
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(x, row.start, y);
    if (row.interleaved)
      rotateNeighbours(x + row.start, cos, sin, y + row.start, row);
    else
      rotateHalves(x + row.start, cos, sin, y + row.start, row);
    std::copy_n(x + end, row.columns - end, y + end);
    x += row.columns;
    cos += row.tableStep;
    sin += row.tableStep;
    y += row.columns;
  }
}

template <typename T>
void rotary(DType tableType, const void *x, const void *cos, const void *sin,
            void *y, int64_t rows, const RotaryRow &row) {
  if (tableType == DType::F32)
    rotateRows<T, float>(x, cos, sin, y, rows, row);
  else
    rotateRows<T, T>(x, cos, sin, y, rows, row);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
} // namespace HWY_NAMESPACE
} // namespace mf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mf {

void runSwiGluRows(DType type, const void *x, void *y, int64_t rows,
                   int64_t columns) {
  MF_LOOP_OF(type, swiGlu)(x, y, rows, columns);
}

void runSwiGluGradRows(DType type, const void *dy, const void *x, void *dx,
                       int64_t rows, int64_t columns) {
  MF_LOOP_OF(type, swiGluGrad)(dy, x, dx, rows, columns);
}

void runRotaryRows(DType type, DType tableType, const void *x, const void *cos,
                   const void *sin, void *y, int64_t rows,
                   const RotaryRow &row) {
  MF_LOOP_OF(type, rotary)(tableType, x, cos, sin, y, rows, row);
}

} // namespace mf
#endif // HWY_ONCE
