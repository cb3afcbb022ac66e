//===- SpecialRowsTest.cpp - Infinities and NaN in rows of scores ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

/// Several blocks of vectors, and a part of one.
constexpr int64_t rows = 9, columns = 1717;

/// Rows of small numbers, the element `column` of row 4 set to `value`.
KernelTensor makeRows(DType type, int64_t column, double value) {
  KernelTensor x = randomTensor(type, {rows, columns}, 1, -5, 5);
  x.set(4 * columns + column, value);
  return x;
}

Tensors runLoss(const KernelTensor &logits) {
  const KernelTensor scalar(DType::F32, {});
  return runKernel("aclnnCrossEntropyLoss",
                   {logits, randomIndices({rows}, 2, 0, columns - 1)},
                   {scalar, KernelTensor(DType::F32, {rows}), scalar});
}

double getLogSumExp(const KernelTensor &x, int64_t row) {
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i)
    sum += std::exp(x.get(row * columns + i));
  return std::log(sum);
}

/// In a whole vector, at the end of a block, and in the last part of one.
constexpr int64_t places[] = {0, 17, 511, 1023, 1700, columns - 1};

TEST(SpecialRowsTest, NaNAndInfinityStayInTheirRow) {
  for (DType type : floatTypes)
    for (const float value : {NAN, INFINITY})
      for (const int64_t place : places) {
        const KernelTensor x = makeRows(type, place, value);
        const Tensors loss = runLoss(x);
        EXPECT_TRUE(std::isnan(loss[0].get(0)));
        const KernelTensor y = runOne("aclnnSoftmax", {x}, x);
        for (int64_t row = 0; row < rows; ++row) {
          double sum = 0;
          for (int64_t i = 0; i < columns; ++i)
            sum += y.get(row * columns + i);
          EXPECT_EQ(std::isnan(loss[1].get(row)), row == 4);
          EXPECT_EQ(std::isnan(sum), row == 4);
        }
      }
}

TEST(SpecialRowsTest, MaskedColumnsAddNothing) {
  for (DType type : floatTypes)
    for (const double value : {-6e4, static_cast<double>(-INFINITY)})
      for (const int64_t place : places) {
        const KernelTensor x = makeRows(type, place, value);
        EXPECT_NEAR(runLoss(x)[1].get(4), getLogSumExp(x, 4), 1e-5);
        EXPECT_EQ(runOne("aclnnSoftmax", {x}, x).get(4 * columns + place), 0);
      }
}

TEST(SpecialRowsTest, ALargeColumnHasAllOfTheRow) {
  for (DType type : floatTypes)
    for (const int64_t place : places) {
      const KernelTensor x = makeRows(type, place, 6e4);
      EXPECT_EQ(runLoss(x)[1].get(4), x.get(4 * columns + place));
      EXPECT_EQ(runOne("aclnnSoftmax", {x}, x).get(4 * columns + place), 1);
    }
}

} // namespace
