//===- IndexingTest.cpp - Elements of rows by index, and running sums -----===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

Ints withLast(Ints dims, int64_t last) {
  dims.back() = last;
  return dims;
}

struct IndexingCase {
  Ints dims;
  int64_t choices;
};
const IndexingCase cases[] = {
    {{1}, 1}, {{5}, 9}, {{3, 4, 16}, 2}, {{600, 256}, 8}, {{2, 70000}, 3}};

TEST(GatherTest, TakesElementsByIndex) {
  for (DType type :
       {DType::F32, DType::BF16, DType::F16, DType::I32, DType::I64})
    for (const IndexingCase &c : cases) {
      const int64_t columns = c.dims.back();
      KernelTensor x(type, c.dims);
      for (int64_t i = 0; i < x.size(); ++i)
        x.set(i, static_cast<double>(i % 200) - 100);
      const Ints dims = withLast(c.dims, c.choices);
      // Some outside of the row.
      KernelTensor index = randomIndices(dims, 2, -2, columns + 1);
      Values expected;
      for (int64_t i = 0; i < index.size(); ++i) {
        const auto at = static_cast<int64_t>(index.get(i));
        expected.push_back(
            at < 0 || at >= columns ? 0 : x.get(i / c.choices * columns + at));
      }
      EXPECT_EQ(runOne("aclnnGather", {x, index}, KernelTensor(type, dims))
                    .toVector(),
                expected);
    }
}

TEST(ScatterElementsTest, AddsAtIndex) {
  for (DType type : floatTypes)
    for (const IndexingCase &c : cases) {
      const int64_t columns = c.dims.back();
      const Ints dims = withLast(c.dims, c.choices);
      KernelTensor x = randomTensor(type, dims, 1);
      KernelTensor index = randomIndices(dims, 2, -1, columns);
      KernelTensor y(type, c.dims);
      Values expected(y.size());
      for (int64_t i = 0; i < index.size(); ++i) {
        const auto at = static_cast<int64_t>(index.get(i));
        if (at >= 0 && at < columns)
          expected[i / c.choices * columns + at] += x.get(i);
      }
      expectNear(runOne("mfScatterElements", {x, index}, y), expected);
    }
}

TEST(ScatterElementsTest, KeepsNaNAndSumsOfManyInTheirOrder) {
  KernelTensor x(DType::BF16, {300}), index(DType::I32, {300}),
      y(DType::BF16, {3});
  x.fill(1);
  index.fill(1);
  // A running sum in bf16 would stop at 256.
  EXPECT_EQ(runOne("mfScatterElements", {x, index}, y).get(1), 300);
  x.set(7, NAN);
  KernelTensor sums = runOne("mfScatterElements", {x, index}, y);
  EXPECT_EQ(sums.get(0), 0);
  EXPECT_TRUE(std::isnan(sums.get(1)));
  EXPECT_EQ(sums.get(2), 0);
}

TEST(OneHotTest, MarksTheIndex) {
  for (DType type : floatTypes)
    for (const IndexingCase &c : cases) {
      const int64_t columns = c.dims.back();
      KernelTensor index =
          randomIndices(Ints(c.dims.begin(), c.dims.end() - 1), 3, -1, columns);
      KernelTensor y(type, c.dims);
      Values expected;
      for (int64_t i = 0; i < y.size(); ++i)
        expected.push_back(
            index.get(i / columns) == static_cast<double>(i % columns) ? 1 : 0);
      EXPECT_EQ(runOne("aclnnOneHot", {index}, y).toVector(), expected);
    }
}

TEST(CumsumTest, SumsUpToEachElement) {
  struct AxisCase {
    Ints dims;
    int64_t axis;
  };
  const AxisCase axisCases[] = {
      {{1}, 0},         {{5000}, 0},        {{3, 700}, 1},
      {{3, 700}, 0},    {{2, 900, 16}, 1},  {{2, 300, 130}, -2},
      {{4, 5, 6}, 0},   {{70, 3, 257}, -1}, {{2, 3, 4, 5, 6}, 2},
      {{40, 1, 33}, 1}, {{1000, 2, 3}, 1},
  };
  for (DType type : floatTypes)
    for (const AxisCase &c : axisCases) {
      const size_t axis = c.axis < 0 ? c.axis + c.dims.size() : c.axis;
      int64_t inner = 1;
      for (size_t i = axis + 1; i < c.dims.size(); ++i)
        inner *= c.dims[i];
      KernelTensor x = randomTensor(type, c.dims, 1, -1, 1);
      Values expected = x.toVector();
      for (int64_t i = 0; i < x.size(); ++i)
        if (i / inner % c.dims[axis] != 0)
          expected[i] += expected[i - inner];
      expectNear(runOne("aclnnCumsum", {x}, x, {{"axis", c.axis}}), expected,
                 type == DType::F32 ? 30 : 1);
    }
}

TEST(CumsumTest, CountsExactlyAndKeepsNaN) {
  KernelTensor ones(DType::F32, {2, 40000, 3});
  ones.fill(1);
  KernelTensor counts =
      runOne("aclnnCumsum", {ones}, ones, {{"axis", int64_t{1}}});
  for (int64_t i = 0; i < ones.size(); ++i)
    ASSERT_EQ(counts.get(i), static_cast<double>(i / 3 % 40000 + 1));
  KernelTensor x(DType::F16, {6});
  x.fill(1);
  x.set(2, NAN);
  KernelTensor y = runOne("aclnnCumsum", {x}, x, {{"axis", int64_t{0}}});
  EXPECT_EQ(y.get(1), 2);
  for (int64_t i = 2; i < 6; ++i)
    EXPECT_TRUE(std::isnan(y.get(i)));
}

} // namespace
