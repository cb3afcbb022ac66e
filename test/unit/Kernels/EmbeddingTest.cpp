//===- EmbeddingTest.cpp - Rows of a table and their gradient -------------===//

#include "KernelTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;
using ::testing::HasSubstr;

namespace {

TEST(EmbeddingTest, TakesRowsAndZerosForIndicesOutsideOfTheTable) {
  for (DType type : floatTypes) {
    Tensor table = randomTensor(type, {50, 33}, 1);
    Tensor indices = randomIndices({3, 40}, 2, 0, 49);
    indices.set(0, -1);
    indices.set(1, 50);
    indices.set(2, 2147483647.0);
    indices.set(3, -2147483648.0);
    std::vector<double> expected;
    for (double index : indices.toVector())
      for (int64_t i = 0; i < 33; ++i)
        expected.push_back(
            index < 0 || index >= 50
                ? 0
                : table.get(static_cast<int64_t>(index) * 33 + i));
    Tensor y = runKernel("aclnnEmbedding", {table, indices},
                         {Tensor(type, {3, 40, 33})})[0];
    EXPECT_EQ(y.toVector(), expected);
  }
}

TEST(EmbeddingTest, GradientAddsTheRowsOfEachIndexInSinglePrecision) {
  for (DType type : floatTypes)
    for (int64_t vocabulary : {1, 7, 1000})
      for (int64_t width : {5, 200, 4096}) {
        const int64_t count = 300;
        Tensor dy = randomTensor(type, {count, width}, 1);
        Tensor indices = randomIndices({count}, 2, -1, vocabulary);
        Tensor gradient(type, {vocabulary, width});
        gradient.fill(7);
        std::vector<double> expected(vocabulary * width);
        for (int64_t i = 0; i < count; ++i) {
          int64_t row = static_cast<int64_t>(indices.get(i));
          if (row < 0 || row >= vocabulary)
            continue;
          for (int64_t j = 0; j < width; ++j)
            expected[row * width + j] += dy.get(i * width + j);
        }
        expectNear(runKernel("aclnnEmbeddingDenseBackward", {dy, indices},
                             {gradient})[0],
                   expected, 10);
      }
}

TEST(EmbeddingTest, BadSpecsAreRefused) {
  Tensor table(DType::F32, {5, 6}), indices(DType::I32, {3});
  Tensor rows(DType::F32, {3, 6});
  EXPECT_EQ(getRefusal("aclnnEmbedding", {table, indices}, {rows}), "");
  EXPECT_THAT(getRefusal("aclnnEmbedding", {table, rows}, {rows}),
              HasSubstr("input 1 is f32, expected i32"));
  EXPECT_THAT(getRefusal("aclnnEmbedding", {indices, indices}, {rows}),
              HasSubstr("input 0 is 3xi32, expected a table"));
  EXPECT_THAT(getRefusal("aclnnEmbedding", {table, indices}, {table}),
              HasSubstr("output 0 is 5x6xf32, expected 3x6xf32"));
  EXPECT_THAT(
      getRefusal("aclnnEmbeddingDenseBackward", {table, indices}, {table}),
      HasSubstr("input 0 is 5x6xf32, expected 3x6xf32"));
}

} // namespace
