//===- EmbeddingTest.cpp - Rows of a table and their gradient -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

// PartsTest has parts of the table.

TEST(EmbeddingTest, TakesRowsAndZerosForIndicesOutsideOfTheTable) {
  for (DType type : floatTypes) {
    KernelTensor table = randomTensor(type, {50, 33}, 1);
    KernelTensor indices = randomIndices({3, 40}, 2, 0, 49);
    indices.set(0, -1);
    indices.set(1, 50);
    indices.set(2, 2147483647.0);
    indices.set(3, -2147483648.0);
    Values expected;
    for (double index : indices.toVector())
      for (int64_t i = 0; i < 33; ++i)
        expected.push_back(
            index < 0 || index >= 50
                ? 0
                : table.get(static_cast<int64_t>(index) * 33 + i));
    KernelTensor y = runOne("aclnnEmbedding", {table, indices},
                            KernelTensor(type, {3, 40, 33}));
    EXPECT_EQ(y.toVector(), expected);
    EXPECT_TRUE(
        runOne("mfEmbeddingPart", {table, indices, makePosition(0)}, y) == y);
  }
}

TEST(EmbeddingTest, GradientAddsTheRowsOfEachIndexInSinglePrecision) {
  for (DType type : floatTypes)
    for (int64_t vocabulary : {1, 7, 1000})
      for (int64_t width : {5, 200, 4096}) {
        const int64_t count = 300;
        KernelTensor dy = randomTensor(type, {count, width}, 1);
        KernelTensor indices = randomIndices({count}, 2, -1, vocabulary);
        KernelTensor gradient(type, {vocabulary, width});
        gradient.fill(7);
        Values expected(vocabulary * width);
        for (int64_t i = 0; i < count; ++i) {
          int64_t row = static_cast<int64_t>(indices.get(i));
          if (row < 0 || row >= vocabulary)
            continue;
          for (int64_t j = 0; j < width; ++j)
            expected[row * width + j] += dy.get(i * width + j);
        }
        const KernelTensor whole =
            runOne("aclnnEmbeddingDenseBackward", {dy, indices}, gradient);
        expectNear(whole, expected, 10);
        EXPECT_TRUE(runOne("mfEmbeddingPartBackward",
                           {dy, indices, makePosition(0)}, gradient) == whole);
      }
}

} // namespace
