//===- ReduceTest.cpp - Sums, norms and checks over tensors ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mf;
using namespace mf::testing;

namespace {

TEST(ReduceSumTest, SumsAnyDimensions) {
  struct Case {
    Ints dims, axes;
  };
  const Case cases[] = {
      {{}, {}},
      {{5}, {}},
      {{5}, {0}},
      {{100000}, {0}},
      {{2048, 96}, {0}},
      {{4, 700, 33}, {0, 1}},
      {{3, 5000}, {1}},
      {{3, 17}, {-1}},
      {{6, 40, 50}, {1}},
      {{2, 3, 4, 5, 6}, {1, 3}},
      {{2, 3, 4, 5, 6}, {0, 2, 4}},
      {{2, 3, 4, 5, 6}, {0, 1, 2, 3, 4}},
      {{2, 8, 4, 64}, {2}},
      {{1, 7, 1}, {0, 2}},
      {{70, 9000}, {0}},
      {{8, 9, 5000}, {0, 2}},
  };
  for (DType type : floatTypes)
    for (const Case &c : cases)
      for (bool keepDims : {false, true}) {
        KernelTensor x = randomTensor(type, c.dims, 3, -1, 2);
        const int64_t rank = c.dims.size();
        std::vector<bool> reduced(rank);
        for (int64_t axis : c.axes)
          reduced[axis < 0 ? axis + rank : axis] = true;
        Ints dims;
        int64_t terms = 1;
        for (int64_t i = 0; i < rank; ++i) {
          if (!reduced[i])
            dims.push_back(c.dims[i]);
          else if (keepDims)
            dims.push_back(1);
          terms *= reduced[i] ? c.dims[i] : 1;
        }
        KernelTensor y(type, dims);
        Values expected(y.size());
        for (int64_t i = 0; i < x.size(); ++i) {
          int64_t rest = i, index = 0, stride = 1;
          for (int64_t axis = rank; axis-- > 0;) {
            int64_t position = rest % c.dims[axis];
            rest /= c.dims[axis];
            if (!reduced[axis]) {
              index += position * stride;
              stride *= c.dims[axis];
            }
          }
          expected[index] += x.get(i);
        }
        expectNear(runOne("aclnnReduceSum", {x}, y,
                          {{"axes", c.axes}, {"keep_dims", keepDims}}),
                   expected, std::sqrt(terms));
      }
}

TEST(LargestTest, FindsTheLargestOfTheLastAndOtherDimensions) {
  for (DType type : floatTypes) {
    const KernelTensor x = randomTensor(type, {3, 5, 70}, 3, -2, -1);
    Values ofHeads(5, -3), ofRows(15, -3);
    for (int64_t i = 0; i < x.size(); ++i) {
      double &head = ofHeads[i / 70 % 5], &row = ofRows[i / 70];
      head = std::max(head, x.get(i));
      row = std::max(row, x.get(i));
    }
    EXPECT_EQ(runOne("aclnnAmax", {x}, KernelTensor(type, {5}),
                     {{"axes", Ints{0, 2}}})
                  .toVector(),
              ofHeads);
    EXPECT_EQ(runOne("aclnnAmax", {x}, KernelTensor(type, {3, 5}),
                     {{"axes", Ints{2}}})
                  .toVector(),
              ofRows);
  }
}

TEST(LargestTest, KeepsNaNAtAnyPlace) {
  for (DType type : floatTypes)
    for (int64_t place = 0; place < 3 * 70; ++place) {
      KernelTensor x = randomTensor(type, {3, 70}, 3, -2, -1);
      x.set(place, std::numeric_limits<double>::quiet_NaN());
      const KernelTensor ofRows = runOne(
          "aclnnAmax", {x}, KernelTensor(type, {3}), {{"axes", Ints{1}}});
      for (int64_t row = 0; row < 3; ++row)
        EXPECT_EQ(std::isnan(ofRows.get(row)), row == place / 70) << place;
      const KernelTensor ofAll =
          runOne("aclnnAmax", {x}, KernelTensor(type, {1, 1}),
                 {{"axes", Ints{0, 1}}, {"keep_dims", true}});
      EXPECT_TRUE(std::isnan(ofAll.get(0))) << place;
    }
}

TEST(ForeachNormTest, IsTheRootOfTheSumOfSquares) {
  for (DType type : floatTypes)
    for (int64_t size : {1, 17, 4096, 70000, 300001}) {
      KernelTensor x = randomTensor(type, {size}, 4, -3, 3);
      double sum = 0;
      for (double value : x.toVector())
        sum += value * value;
      KernelTensor y =
          runOne("aclnnForeachNorm", {x}, KernelTensor(DType::F32, {}));
      EXPECT_NEAR(y.get(0), std::sqrt(sum), 2e-6 * std::sqrt(sum));
    }
}

TEST(ForeachNonFiniteCheckTest, RaisesTheFlagAndNeverLowersIt) {
  for (DType type : floatTypes)
    for (int64_t bad : {-1, 0, 12, 99999, 100000})
      for (double value : {double(INFINITY), -double(INFINITY), double(NAN)})
        for (double before : {0.0, 1.0}) {
          KernelTensor x = randomTensor(type, {100001}, 5, -1000, 1000);
          if (bad >= 0)
            x.set(bad, value);
          KernelTensor flag(DType::F32, {});
          flag.set(0, before);
          flag = runOne("mfNonFiniteCheck", {x}, flag);
          EXPECT_EQ(flag.get(0), bad >= 0 ? 1 : before);
        }
}

} // namespace
