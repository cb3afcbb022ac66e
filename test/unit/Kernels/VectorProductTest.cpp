//===- VectorProductTest.cpp - f32 products by our own vector loops -------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "lib/Exec/Kernels/LoopDispatch.h"
#include "lib/Exec/Kernels/MatrixProduct.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

/// A product of dense matrices, with c in rows of `cStride` elements.
ProductSpec getSpec(int64_t m, int64_t n, int64_t k, bool transposeA,
                    bool transposeB, bool accumulate) {
  ProductSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.a = transposeA ? MatrixLayout{1, m} : MatrixLayout{k, 1};
  spec.b = transposeB ? MatrixLayout{1, k} : MatrixLayout{n, 1};
  spec.cStride = n + 3;
  spec.accumulate = accumulate;
  return spec;
}

/// Returns the chain of fused multiply-adds of an element.
float multiply(const ProductSpec &spec, const float *a, const float *b,
               int64_t row, int64_t column, float start) {
  float sum = spec.accumulate ? start : 0;
  for (int64_t k = 0; k < spec.k; ++k)
    sum = std::fma(a[row * spec.a.rowStride + k * spec.a.columnStride],
                   b[k * spec.b.rowStride + column * spec.b.columnStride], sum);
  return sum;
}

/// Counts the elements of c, and of the gaps between its rows, with other bits
/// than they should have.
int64_t countWrong(const ProductSpec &spec) {
  constexpr float start = 0.7F;
  const KernelTensor a = randomTensor(DType::F32, {spec.m, spec.k}, 1);
  const KernelTensor b = randomTensor(DType::F32, {spec.k, spec.n}, 2);
  const auto *left = static_cast<const float *>(a.data());
  const auto *right = static_cast<const float *>(b.data());
  std::vector<float> c(spec.m * spec.cStride, start);
  getVectorProduct(spec)->run(left, right, c.data());
  int64_t wrong = 0;
  for (int64_t row = 0; row < spec.m; ++row)
    for (int64_t column = 0; column < spec.cStride; ++column) {
      const float expected =
          column < spec.n ? multiply(spec, left, right, row, column, start)
                          : start;
      wrong += c[row * spec.cStride + column] != expected;
    }
  return wrong;
}

TEST(VectorProductTest, AnElementIsOneChainWithEveryInstructionSet) {
  const int64_t shapes[][3] = {{1, 1, 1},    {4, 48, 64},    {5, 23, 65},
                               {7, 97, 300}, {33, 129, 257}, {3, 5, 0}};
  for (LoopSet set : {LoopSet::EightLanes, LoopSet::Avx512}) {
    const LoopSetLimit limit(set);
    for (auto [m, n, k] : shapes)
      for (int bits = 0; bits < 8; ++bits) {
        const ProductSpec spec = getSpec(m, n, k, bits & 1, bits & 2, bits & 4);
        EXPECT_EQ(countWrong(spec), 0)
            << m << " x " << n << " x " << k << ", " << bits;
      }
  }
}

} // namespace
