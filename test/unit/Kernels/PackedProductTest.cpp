//===- PackedProductTest.cpp - bf16 products of packed panels -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "lib/Exec/Kernels/MatrixProduct.h"
#include "lib/Exec/Kernels/MatrixUnit.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

/// A product of dense matrices with none transposed.
ProductSpec getSpec(int64_t m, int64_t n, int64_t k) {
  ProductSpec spec;
  spec.m = m;
  spec.n = n;
  spec.k = k;
  spec.a = {k, 1};
  spec.b = {n, 1};
  spec.cStride = n;
  spec.operandType = DType::BF16;
  return spec;
}

/// The f32 result of a product, from zeros or, accumulating, from `start`.
std::vector<float> multiply(const ProductSpec &spec, const KernelTensor &a,
                            const KernelTensor &b, float start = 0) {
  std::vector<float> c(spec.m * spec.cStride, start);
  getPackedProduct(spec)->run(a.data(), b.data(), c.data());
  return c;
}

bool hasAmx() { return getMatrixUnit() == MatrixUnit::Amx; }

TEST(PackedProductTest, NoneOfOtherTypesOrWithoutAmx) {
  ProductSpec spec = getSpec(64, 64, 64);
  EXPECT_EQ(getPackedProduct(spec) != nullptr, hasAmx());
  spec.resultType = DType::F16;
  EXPECT_EQ(getPackedProduct(spec), nullptr);
  spec = getSpec(64, 64, 64);
  spec.operandType = DType::F32;
  EXPECT_EQ(getPackedProduct(spec), nullptr);
  const MatrixUnitLimit limit(MatrixUnit::Avx512);
  EXPECT_EQ(getPackedProduct(getSpec(64, 64, 64)), nullptr);
}

TEST(PackedProductTest, AnElementDependsOnItsRowItsColumnAndTheDepthAlone) {
  if (!hasAmx())
    GTEST_SKIP() << "this processor has no AMX";
  const int64_t m = 600, n = 530, k = 900;
  const KernelTensor a = randomTensor(DType::BF16, {m, k}, 1);
  const KernelTensor b = randomTensor(DType::BF16, {k, n}, 2);
  const std::vector<float> whole = multiply(getSpec(m, n, k), a, b);
  // The same rows and columns, in the corner of a smaller product.
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>(1, 1), {33, 47}}) {
    ProductSpec part = getSpec(rows, columns, k);
    part.b = {n, 1};
    part.cStride = 50;
    const std::vector<float> c = multiply(part, a, b);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(c[i * 50 + j], whole[i * n + j]) << i << ", " << j;
  }
}

TEST(PackedProductTest, AccumulatesAndLeavesWhatLiesBesideTheResult) {
  if (!hasAmx())
    GTEST_SKIP() << "this processor has no AMX";
  ProductSpec spec = getSpec(35, 19, 40);
  const KernelTensor a = randomTensor(DType::BF16, {spec.m, spec.k}, 1);
  const KernelTensor b = randomTensor(DType::BF16, {spec.k, spec.n}, 2);
  const std::vector<float> product = multiply(spec, a, b);
  spec.cStride = 24;
  spec.accumulate = true;
  const std::vector<float> sums = multiply(spec, a, b, 2);
  for (int64_t i = 0; i < spec.m; ++i)
    for (int64_t j = 0; j < spec.cStride; ++j)
      ASSERT_EQ(sums[i * spec.cStride + j],
                j < spec.n ? product[i * spec.n + j] + 2 : 2);
}

} // namespace
