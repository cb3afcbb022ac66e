//===- GatedLoops.cpp - Rows of SwiGLU and rotary embedding ---------------===//

#include "HighwayTargets.h"
#include "RowLoops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/Kernels/GatedLoops.cpp"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "Simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mf {
namespace HWY_NAMESPACE {

template <typename T>
void swiGluOfType(const void *xs, void *ys, int64_t rows, int64_t columns) {
  const T *x = static_cast<const T *>(xs);
  T *y = static_cast<T *>(ys);
  for (int64_t row = 0; row < rows; ++row, x += 2 * columns, y += columns)
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      auto gate = part.get(x + i);
      auto silu = hn::Mul(gate, sigmoid(gate));
      part.put(hn::Mul(silu, part.get(x + columns + i)), y + i);
    });
}

template <typename T>
void swiGluGradOfType(const void *dys, const void *xs, void *dxs, int64_t rows,
                      int64_t columns) {
  const T *dy = static_cast<const T *>(dys);
  const T *x = static_cast<const T *>(xs);
  T *dx = static_cast<T *>(dxs);
  auto one = hn::Set(floats, 1.0f);
  for (int64_t row = 0; row < rows; ++row) {
    forEachVector(columns, [&](int64_t i, auto part) HWY_ATTR {
      auto gate = part.get(x + i);
      auto gradient = part.get(dy + i);
      auto s = sigmoid(gate);
      auto slope = hn::Mul(s, hn::MulAdd(gate, hn::Sub(one, s), one));
      auto up = part.get(x + columns + i);
      part.put(hn::Mul(hn::Mul(gradient, up), slope), dx + i);
      part.put(hn::Mul(gradient, hn::Mul(gate, s)), dx + columns + i);
    });
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
  // Each product is rounded, as separate operators round it: the bits are those
  // of the operators that this one stands for.
  for (int64_t row = 0; row < rows; ++row) {
    forEachVector(half, [&](int64_t i, auto part) HWY_ATTR {
      auto a = part.get(x + i), b = part.get(x + half + i);
      auto cosA = part.get(cos + i), cosB = part.get(cos + half + i);
      auto sinA = part.get(sin + i), sinB = part.get(sin + half + i);
      if (backward) {
        part.put(hn::Add(hn::Mul(a, cosA), hn::Mul(b, sinB)), y + i);
        part.put(hn::Sub(hn::Mul(b, cosB), hn::Mul(a, sinA)), y + half + i);
      } else {
        part.put(hn::Sub(hn::Mul(a, cosA), hn::Mul(b, sinA)), y + i);
        part.put(hn::Add(hn::Mul(b, cosB), hn::Mul(a, sinB)), y + half + i);
      }
    });
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

HWY_EXPORT(swiGlu);
HWY_EXPORT(swiGluGrad);
HWY_EXPORT(rotary);

void runSwiGluRows(DType type, const void *x, void *y, int64_t rows,
                   int64_t columns) {
  HWY_DYNAMIC_DISPATCH(swiGlu)(type, x, y, rows, columns);
}

void runSwiGluGradRows(DType type, const void *dy, const void *x, void *dx,
                       int64_t rows, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(swiGluGrad)(type, dy, x, dx, rows, columns);
}

void runRotaryRows(DType type, DType tableType, const void *x, const void *cos,
                   const void *sin, void *y, int64_t rows, int64_t columns,
                   bool backward) {
  HWY_DYNAMIC_DISPATCH(rotary)
  (type, tableType, x, cos, sin, y, rows, columns, backward);
}

} // namespace mf
#endif // HWY_ONCE
