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

/// The element of `x` at a position in each dimension.
double getAt(const KernelTensor &x, const Ints &position) {
  int64_t index = 0;
  for (size_t i = 0; i < position.size(); ++i)
    index = index * x.shape.dims[i] + position[i];
  return x.get(index);
}

/// Expects that the kernel's output of shape `dims` has at each position the
/// element that `getExpected` gives.
void expectElements(llvm::StringRef kernel, const Tensors &inputs,
                    const Ints &dims, const AttributeMap &attributes,
                    llvm::function_ref<double(Ints)> getExpected) {
  KernelTensor y(inputs[0].shape.type, dims);
  y.fill(9);
  y = runOne(kernel, inputs, y, attributes);
  for (int64_t i = 0; i < y.size(); ++i) {
    Ints position(dims.size());
    int64_t rest = i;
    for (size_t dim = dims.size(); dim-- > 0; rest /= dims[dim])
      position[dim] = rest % dims[dim];
    ASSERT_EQ(y.get(i), getExpected(position)) << kernel.str() << " at " << i;
  }
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
      const KernelTensor x = countingTensor(type, c.dims);
      Ints dims;
      for (int64_t axis : c.perm)
        dims.push_back(c.dims[axis]);
      expectElements("aclnnPermute", {x}, dims, {{"perm", c.perm}},
                     [&](const Ints &to) {
                       Ints from(to.size());
                       for (size_t i = 0; i < to.size(); ++i)
                         from[c.perm[i]] = to[i];
                       return getAt(x, from);
                     });
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
      const KernelTensor x = countingTensor(type, c.dims),
                         part = countingTensor(type, c.sizes);
      Ints high;
      for (size_t i = 0; i < c.dims.size(); ++i)
        high.push_back(c.dims[i] - c.starts[i] - c.sizes[i]);
      expectElements("aclnnSliceV2", {x}, c.sizes,
                     {{"starts", c.starts}, {"sizes", c.sizes}}, [&](Ints at) {
                       for (size_t i = 0; i < at.size(); ++i)
                         at[i] += c.starts[i];
                       return getAt(x, at);
                     });
      for (int64_t value : {0, -100})
        expectElements("aclnnConstantPadNd", {part}, c.dims,
                       {{"low", c.starts}, {"high", high}, {"value", value}},
                       [&](Ints at) {
                         for (size_t i = 0; i < at.size(); ++i) {
                           at[i] -= c.starts[i];
                           if (at[i] < 0 || at[i] >= c.sizes[i])
                             return static_cast<double>(value);
                         }
                         return getAt(part, at);
                       });
    }
}

TEST(OwnPartTest, TakesThePartThatATensorNames) {
  for (DType type : allTypes)
    for (int64_t index : {0, 1, 3, -7, 9}) {
      const KernelTensor x = countingTensor(type, {3, 4, 5});
      expectElements("mfOwnPart", {x, makePosition(index)}, {3, 5}, {},
                     [&](const Ints &at) {
                       return getAt(
                           x, {at[0], std::clamp<int64_t>(index, 0, 3), at[1]});
                     });
    }
}

TEST(CatTest, PutsTensorsSideBySide) {
  for (DType type : allTypes)
    for (int64_t axis : {0, 1, 2, -1}) {
      Tensors inputs;
      Ints dims = {4, 5, 32};
      const size_t dim = axis < 0 ? 2 : axis;
      for (int64_t size : {32, 1, 7}) {
        Ints part = dims;
        part[dim] = size;
        inputs.push_back(countingTensor(type, part));
      }
      dims[dim] = 40;
      expectElements("aclnnCat", inputs, dims, {{"axis", axis}}, [&](Ints at) {
        size_t input = 0;
        while (at[dim] >= inputs[input].shape.dims[dim])
          at[dim] -= inputs[input++].shape.dims[dim];
        return getAt(inputs[input], at);
      });
    }
}

TEST(RepeatInterleaveTest, RepeatsEachSliceInPlace) {
  for (DType type : allTypes)
    for (int64_t axis : {0, 1, 2, -3})
      for (int64_t repeats : {1, 2, 5}) {
        Ints dims = {3, 4, 17};
        const size_t dim = axis < 0 ? axis + 3 : axis;
        const KernelTensor x = countingTensor(type, dims);
        dims[dim] *= repeats;
        expectElements("aclnnRepeatInterleaveIntWithDim", {x}, dims,
                       {{"axis", axis}, {"repeats", repeats}}, [&](Ints at) {
                         at[dim] /= repeats;
                         return getAt(x, at);
                       });
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
