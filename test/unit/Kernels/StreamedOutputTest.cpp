//===- StreamedOutputTest.cpp - Outputs larger than the caches ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// They are written another way, which must not show.
//
//===----------------------------------------------------------------------===//

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstring>

using namespace mf;
using namespace mf::testing;

namespace {

/// Elements of more than 32 MiB of bf16, and not a whole number of vectors.
constexpr int64_t manyRows = 1031, manyColumns = 16411;

/// Rows [first, first + count).
KernelTensor takeRows(const KernelTensor &x, int64_t first, int64_t count) {
  KernelTensor part(x.shape.type, {count, x.shape.dims[1]});
  std::memcpy(part.data(),
              static_cast<const char *>(x.data()) +
                  first * x.shape.dims[1] * getBytes(x.shape.type),
              part.shape.getBytes());
  return part;
}

/// Random rows, again and again.
KernelTensor makeRows() {
  const KernelTensor few =
      randomTensor(DType::BF16, {7, manyColumns}, 1, -5, 5);
  KernelTensor x(DType::BF16, {manyRows, manyColumns});
  const int64_t bytes = manyColumns * getBytes(DType::BF16);
  for (int64_t row = 0; row < manyRows; ++row)
    std::memcpy(static_cast<char *>(x.data()) + row * bytes,
                static_cast<const char *>(few.data()) + row % 7 * bytes, bytes);
  return x;
}

class StreamedOutputTest : public ::testing::Test {
protected:
  /// Some rows of `y` are what the kernel makes of those rows alone.
  static void expectRows(llvm::StringRef name, const KernelTensor &y,
                         const Tensors &inputs,
                         const AttributeMap &attributes = {}) {
    for (const int64_t first : {0L, 500L, manyRows - 3}) {
      Tensors parts;
      for (const KernelTensor &input : inputs)
        parts.push_back(takeRows(input, first, 3));
      EXPECT_TRUE(runOne(name, parts, takeRows(y, first, 3), attributes) ==
                  takeRows(y, first, 3))
          << name.str() << " from row " << first;
    }
  }
};

TEST_F(StreamedOutputTest, ElementwiseKernelsHaveTheBitsOfTheirRows) {
  const KernelTensor x = makeRows();
  expectRows("aclnnSilu", runOne("aclnnSilu", {x}, x), {x});
  expectRows("aclnnAdd", runOne("aclnnAdd", {x, x}, x), {x, x});
  const KernelTensor wide(DType::F32, {manyRows, manyColumns});
  expectRows("aclnnCast", runOne("aclnnCast", {x}, wide), {x});
}

TEST_F(StreamedOutputTest, BroadcastOperandsAdvanceWithThePieces) {
  const KernelTensor x = makeRows(), row = takeRows(x, 1, 1);
  const KernelTensor sum = runOne("aclnnAdd", {x, row}, x);
  for (const int64_t i : {0L, 1030L, 40L * manyColumns + 1025, x.size() - 1}) {
    KernelTensor expected(DType::BF16, {1});
    expected.set(0, x.get(i) + row.get(i % manyColumns));
    EXPECT_EQ(sum.get(i), expected.get(0)) << i;
  }
}

TEST_F(StreamedOutputTest, TheGradientOfALossHasTheBitsOfItsRows) {
  const KernelTensor logits = makeRows();
  const KernelTensor labels =
      randomIndices({manyRows, 1}, 2, -1, manyColumns - 1);
  const KernelTensor statistic =
      randomTensor(DType::F32, {manyRows, 1}, 3, 8, 9);
  KernelTensor scale(DType::F32, {}), count(DType::F32, {});
  scale.set(0, 3);
  count.set(0, 2);
  auto run = [&](const KernelTensor &x, KernelTensor l, KernelTensor s) {
    l.shape.dims.pop_back();
    s.shape.dims.pop_back();
    return runOne("aclnnCrossEntropyLossGrad", {scale, x, l, s, count}, x);
  };
  const KernelTensor dx = run(logits, labels, statistic);
  for (const int64_t first : {0L, 500L, manyRows - 3})
    EXPECT_TRUE(run(takeRows(logits, first, 3), takeRows(labels, first, 3),
                    takeRows(statistic, first, 3)) == takeRows(dx, first, 3));
}

TEST_F(StreamedOutputTest, RowsWithoutAnIndexAreZero) {
  const int64_t width = manyColumns, count = 5;
  const KernelTensor dy = randomTensor(DType::BF16, {count, width}, 1);
  KernelTensor indices(DType::I32, {count});
  const int64_t places[count] = {1030, 7, 8, 7, 400};
  for (int64_t i = 0; i < count; ++i)
    indices.set(i, static_cast<double>(places[i]));
  KernelTensor table(DType::BF16, {manyRows, width});
  table.fill(7);
  const KernelTensor gradient =
      runOne("aclnnEmbeddingDenseBackward", {dy, indices}, table);
  KernelTensor zeros(DType::BF16, {1, width});
  for (int64_t row = 0; row < manyRows; ++row) {
    const KernelTensor own = takeRows(gradient, row, 1);
    const int64_t *place = std::find(places, places + count, row);
    if (place == places + count)
      ASSERT_TRUE(own == zeros) << row;
    else if (row != 7)
      ASSERT_TRUE(own == takeRows(dy, place - places, 1)) << row;
  }
  EXPECT_NEAR(gradient.get(7 * width + 5),
              dy.get(width + 5) + dy.get(3 * width + 5), 0.01);
}

TEST_F(StreamedOutputTest, MemoryIsZeroed) {
  KernelTensor x = makeRows();
  x = runOne("aclnnInplaceZero", {}, x);
  EXPECT_TRUE(x == KernelTensor(DType::BF16, {manyRows, manyColumns}));
}

} // namespace
