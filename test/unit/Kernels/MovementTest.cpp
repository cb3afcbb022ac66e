//===- MovementTest.cpp - Kernels that move elements ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

constexpr DType allTypes[] = {DType::F32, DType::BF16, DType::F16, DType::I32,
                              DType::I64};

/// Different small integers, exact in every type.
KernelTensor countingTensor(DType type, llvm::ArrayRef<int64_t> dims) {
  KernelTensor tensor(type, dims);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>(i * 7 % 251));
  return tensor;
}

/// The position of an element in each dimension.
Ints unravel(llvm::ArrayRef<int64_t> dims, int64_t index) {
  Ints position(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    position[i] = index % dims[i];
    index /= dims[i];
  }
  return position;
}

int64_t ravel(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> position) {
  int64_t index = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    index = index * dims[i] + position[i];
  return index;
}

TEST(PermuteTest, MovesDimensions) {
  struct Case {
    Ints dims, perm;
  };
  const Case cases[] = {
      {{5}, {0}},
      {{7, 9}, {1, 0}},
      {{300, 170}, {1, 0}},
      {{2, 33, 5, 64}, {0, 2, 1, 3}},
      {{2, 300, 12, 32}, {0, 2, 1, 3}},
      {{2, 5, 40, 17}, {0, 1, 3, 2}},
      {{3, 4, 5, 6}, {3, 2, 1, 0}},
      {{3, 1, 5, 6}, {2, 1, 3, 0}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{1, 1}, {1, 0}},
      {{20, 30, 40}, {2, 0, 1}},
      {{70000, 3}, {1, 0}},
  };
  for (DType type : allTypes)
    for (const Case &c : cases) {
      KernelTensor x = countingTensor(type, c.dims);
      Ints dims;
      for (int64_t axis : c.perm)
        dims.push_back(c.dims[axis]);
      KernelTensor expected(type, dims);
      for (int64_t i = 0; i < expected.size(); ++i) {
        Ints to = unravel(dims, i), from(dims.size());
        for (size_t j = 0; j < dims.size(); ++j)
          from[c.perm[j]] = to[j];
        expected.set(i, x.get(ravel(c.dims, from)));
      }
      KernelTensor y = runOne("aclnnPermute", {x}, KernelTensor(type, dims),
                              {{"perm", c.perm}});
      EXPECT_EQ(y.toVector(), expected.toVector());
    }
}

TEST(SliceTest, TakesPartsAndPadPutsThemBack) {
  struct Case {
    Ints dims, starts, sizes;
  };
  const Case cases[] = {
      {{9}, {2}, {5}},
      {{4, 6}, {0, 0}, {4, 6}},
      {{4, 6}, {1, 0}, {2, 6}},
      {{2, 3, 50, 64}, {0, 0, 0, 0}, {2, 3, 50, 32}},
      {{2, 3, 50, 64}, {0, 0, 0, 32}, {2, 3, 50, 32}},
      {{2, 3, 50, 128}, {0, 1, 7, 64}, {2, 2, 40, 64}},
      {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
      {{2, 90000}, {0, 3}, {2, 80000}},
  };
  for (DType type : allTypes)
    for (const Case &c : cases) {
      KernelTensor x = countingTensor(type, c.dims);
      KernelTensor expected(type, c.sizes), padded(type, c.dims);
      Ints high;
      for (size_t i = 0; i < c.dims.size(); ++i)
        high.push_back(c.dims[i] - c.starts[i] - c.sizes[i]);
      for (int64_t i = 0; i < expected.size(); ++i) {
        Ints from = unravel(c.sizes, i);
        for (size_t j = 0; j < from.size(); ++j)
          from[j] += c.starts[j];
        int64_t index = ravel(c.dims, from);
        expected.set(i, x.get(index));
        padded.set(index, x.get(index));
      }
      KernelTensor y = runOne("aclnnSliceV2", {x}, KernelTensor(type, c.sizes),
                              {{"starts", c.starts}, {"sizes", c.sizes}});
      EXPECT_EQ(y.toVector(), expected.toVector());
      KernelTensor back(type, c.dims);
      back.fill(9);
      back = runOne("aclnnConstantPadNd", {y}, back,
                    {{"low", c.starts}, {"high", high}});
      EXPECT_EQ(back.toVector(), padded.toVector());
    }
}

TEST(PadTest, SurroundsWithAValue) {
  for (DType type : allTypes) {
    KernelTensor x = countingTensor(type, {2, 3}), expected(type, {2, 5});
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t column = 0; column < 5; ++column)
        expected.set(row * 5 + column, column == 0 || column == 4
                                           ? -100.0
                                           : x.get(row * 3 + column - 1));
    KernelTensor y = runOne(
        "aclnnConstantPadNd", {x}, KernelTensor(type, {2, 5}),
        {{"low", Ints{0, 1}}, {"high", Ints{0, 1}}, {"value", int64_t{-100}}});
    EXPECT_EQ(y.toVector(), expected.toVector());
  }
}

TEST(OwnPartTest, TakesThePartThatATensorNames) {
  for (DType type : allTypes) {
    KernelTensor x = countingTensor(type, {3, 4, 5}), part(DType::I32, {1});
    for (double index : {0.0, 1.0, 3.0, -7.0, 9.0}) {
      part.set(0, index);
      const int64_t own =
          std::clamp<int64_t>(static_cast<int64_t>(index), 0, 3);
      Values expected;
      for (int64_t i = 0; i < 15; ++i)
        expected.push_back(x.get((i / 5 * 4 + own) * 5 + i % 5));
      EXPECT_EQ(
          runOne("mfOwnPart", {x, part}, KernelTensor(type, {3, 5})).toVector(),
          expected);
    }
  }
}

TEST(CatTest, PutsTensorsSideBySide) {
  for (DType type : allTypes)
    for (int64_t axis : {0, 1, 2, -1}) {
      Tensors inputs;
      Values expected;
      Ints dims = {4, 5, 32};
      const size_t position = axis < 0 ? 2 : axis;
      for (int64_t size : {32, 1, 7}) {
        Ints part = dims;
        part[position] = size;
        inputs.push_back(countingTensor(type, part));
      }
      dims[position] = 40;
      for (int64_t i = 0; i < KernelTensor(type, dims).size(); ++i) {
        Ints at = unravel(dims, i);
        size_t input = 0;
        while (at[position] >= inputs[input].shape.dims[position])
          at[position] -= inputs[input++].shape.dims[position];
        expected.push_back(
            inputs[input].get(ravel(inputs[input].shape.dims, at)));
      }
      KernelTensor y = runOne("aclnnCat", inputs, KernelTensor(type, dims),
                              {{"axis", axis}});
      EXPECT_EQ(y.toVector(), expected);
    }
}

TEST(RepeatInterleaveTest, RepeatsEachSliceInPlace) {
  for (DType type : allTypes)
    for (int64_t axis : {0, 1, 2, -3})
      for (int64_t repeats : {1, 2, 5}) {
        Ints dims = {3, 4, 17}, target = dims;
        const size_t position = axis < 0 ? axis + 3 : axis;
        target[position] *= repeats;
        KernelTensor x = countingTensor(type, dims);
        Values expected;
        for (int64_t i = 0; i < KernelTensor(type, target).size(); ++i) {
          Ints at = unravel(target, i);
          at[position] /= repeats;
          expected.push_back(x.get(ravel(dims, at)));
        }
        KernelTensor y = runOne("aclnnRepeatInterleaveIntWithDim", {x},
                                KernelTensor(type, target),
                                {{"axis", axis}, {"repeats", repeats}});
        EXPECT_EQ(y.toVector(), expected);
      }
}

TEST(InplaceTest, CopyAndZero) {
  for (DType type : allTypes)
    for (const Ints &dims : {Ints{}, {5}, {300, 1001}}) {
      KernelTensor x = countingTensor(type, dims);
      EXPECT_TRUE(runOne("aclnnInplaceCopy", {x}, KernelTensor(type, dims)) ==
                  x);
      EXPECT_TRUE(runOne("aclnnInplaceZero", {}, x) ==
                  KernelTensor(type, dims));
    }
}

} // namespace
