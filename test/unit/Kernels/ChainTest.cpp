//===- ChainTest.cpp - Several kernels as one -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "llvm/ADT/STLExtras.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;
using ::testing::HasSubstr;

namespace {

using FusedKernels = std::vector<FusedKernel>;

/// The results of the kernels one after another, each a kernel of its own.
KernelTensor runOneByOne(const Tensors &inputs, const FusedKernels &kernels) {
  Tensors results;
  for (const FusedKernel &kernel : kernels) {
    Tensors read;
    for (int64_t operand : kernel.operands)
      read.push_back(operand < 0 ? results[~operand] : inputs[operand]);
    results.push_back(runOne(
        kernel.name, read, KernelTensor(kernel.result.type, kernel.result.dims),
        kernel.attributes));
  }
  return results.back();
}

void expectSameBits(const Tensors &inputs, const FusedKernels &kernels) {
  const KernelTensor expected = runOneByOne(inputs, kernels);
  const KernelTensor output = runOne(
      "mfChain", inputs, KernelTensor(expected.shape.type, expected.shape.dims),
      {{"steps", kernels}});
  EXPECT_TRUE(output == expected);
}

TensorShape shape(DType type, std::initializer_list<int64_t> dims) {
  return {type, dims};
}

TEST(ChainTest, EachKernelRoundsToItsType) {
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    for (int64_t rows : {1, 7, 700}) {
      const TensorShape x = shape(type, {rows, 129});
      const TensorShape wide = shape(DType::F32, {rows, 129});
      const Tensors inputs = {randomTensor(type, x.dims, 1, -4, 4),
                              randomTensor(type, x.dims, 2),
                              randomTensor(type, x.dims, 3)};
      expectSameBits(inputs, {{"aclnnSilu", {0}, x, {}},
                              {"aclnnMul", {~0, 1}, x, {}},
                              {"aclnnAdd", {~1, 2}, x, {}}});
      expectSameBits(inputs, {{"aclnnMul", {0, 1}, x, {}},
                              {"aclnnMul", {~0, 2}, x, {}},
                              {"aclnnSiluBackward", {~1, 0}, x, {}},
                              {"aclnnCast", {~2}, wide, {}},
                              {"aclnnMuls", {~3}, wide, {{"value", 0.3}}},
                              {"aclnnCast", {~4}, x, {}}});
    }
}

TEST(ChainTest, AResultMayBeReadTwice) {
  const TensorShape x = shape(DType::BF16, {50, 64});
  expectSameBits({randomTensor(x.type, x.dims, 1)},
                 {{"aclnnGelu", {0}, x, {}},
                  {"aclnnMul", {~0, ~0}, x, {}},
                  {"aclnnNeg", {~0}, x, {}},
                  {"aclnnSub", {~1, ~2}, x, {}},
                  {"aclnnMul", {~3, 0}, x, {}},
                  {"aclnnAdd", {~4, ~0}, x, {}}});
}

TEST(ChainTest, RepeatsInputs) {
  struct Case {
    Ints x, y, z;
  };
  const Case cases[] = {
      {{300, 129}, {129}, {300, 129}},
      {{129}, {300, 129}, {300, 129}},
      {{2, 3, 40, 17}, {40, 17}, {2, 3, 40, 17}},
      {{2, 3, 40, 17}, {2, 1, 40, 1}, {2, 3, 40, 17}},
      {{2, 3, 40, 17}, {}, {2, 3, 40, 17}},
      {{1}, {70000}, {70000}},
      {{70001}, {}, {70001}},
      {{5, 1}, {1, 7}, {5, 7}},
      {{5, 1, 9}, {4, 1}, {5, 4, 9}},
      {{4, 12, 512, 64}, {512, 64}, {4, 12, 512, 64}},
  };
  for (DType type : {DType::F32, DType::BF16})
    for (const Case &c : cases) {
      const TensorShape z{type, {c.z.begin(), c.z.end()}};
      const Tensors inputs = {randomTensor(type, c.x, 1),
                              randomTensor(type, c.y, 2),
                              randomTensor(type, c.z, 3)};
      expectSameBits(inputs, {{"aclnnMul", {0, 1}, z, {}},
                              {"aclnnAdd", {2, ~0}, z, {}},
                              {"aclnnSub", {~1, 1}, z, {}}});
    }
}

/// Rotary embedding and its gradient.
TEST(ChainTest, RowsBecomeLongerAndShorter) {
  for (Ints dims :
       {Ints{2, 3, 40, 16}, Ints{1, 1, 1, 6}, Ints{4, 2, 512, 64}}) {
    const TensorShape x{DType::BF16, {dims.begin(), dims.end()}};
    const TensorShape wide{DType::F32, x.dims};
    TensorShape half = wide;
    half.dims.back() /= 2;
    const Ints sizes(half.dims.begin(), half.dims.end());
    const Ints zeros(4, 0);
    Ints middle = zeros;
    middle.back() = sizes.back();
    const AttributeMap first = {{"starts", zeros}, {"sizes", sizes}};
    const AttributeMap second = {{"starts", middle}, {"sizes", sizes}};
    const AttributeMap before = {{"low", middle}, {"high", zeros}};
    const AttributeMap behind = {{"low", zeros}, {"high", middle}};
    const Tensors inputs = {randomTensor(x.type, x.dims, 1),
                            randomTensor(DType::F32, {dims[2], dims[3]}, 2),
                            randomTensor(DType::F32, {dims[2], dims[3]}, 3)};
    expectSameBits(inputs,
                   {{"aclnnCast", {0}, wide, {}},
                    {"aclnnSliceV2", {~0}, half, first},
                    {"aclnnSliceV2", {~0}, half, second},
                    {"aclnnNeg", {~2}, half, {}},
                    {"aclnnCat", {~3, ~1}, wide, {{"axis", int64_t{3}}}},
                    {"aclnnMul", {~0, 1}, wide, {}},
                    {"aclnnMul", {~4, 2}, wide, {}},
                    {"aclnnAdd", {~5, ~6}, wide, {}},
                    {"aclnnCast", {~7}, x, {}}});
    expectSameBits(inputs, {{"aclnnCast", {0}, wide, {}},
                            {"aclnnMul", {~0, 1}, wide, {}},
                            {"aclnnMul", {~0, 2}, wide, {}},
                            {"aclnnSliceV2", {~1}, half, first},
                            {"aclnnSliceV2", {~1}, half, second},
                            {"aclnnNeg", {~3}, half, {}},
                            {"aclnnConstantPadNd", {~5}, wide, before},
                            {"aclnnAdd", {~2, ~6}, wide, {}},
                            {"aclnnConstantPadNd", {~4}, wide, behind},
                            {"aclnnAdd", {~7, ~8}, wide, {}},
                            {"aclnnCast", {~9}, x, {}}});
  }
}

TEST(ChainTest, RefusesWhatDoesNotFit) {
  const KernelTensor x(DType::F32, {4, 6}), y(DType::F32, {6, 4}),
      row(DType::F32, {6});
  auto refuse = [](const Tensors &inputs, const KernelTensor &output,
                   const FusedKernels &kernels) {
    return getRefusal(
        {"mfChain", {inputs[0].shape}, {output.shape}, {{"steps", kernels}}});
  };
  EXPECT_EQ(refuse({x}, x, {}), "mfChain: expected at least one kernel");
  EXPECT_EQ(refuse({x}, x,
                   {{"aclnnNeg", {0}, x.shape, {}},
                    {"aclnnAdd", {~0, 0}, y.shape, {}}}),
            "mfChain: kernel t1 (aclnnAdd) makes other rows than the chain's "
            "output has: all but the last dimension must be the same");
  EXPECT_THAT(refuse({x}, x,
                     {{"aclnnNeg", {0}, x.shape, {}},
                      {"aclnnAdd", {~0, 0}, {DType::BF16, {4, 6}}, {}},
                      {"aclnnCast", {~1}, x.shape, {}}}),
              HasSubstr("mfChain: kernel t1: aclnnAdd: output 0 is bf16"));
}

} // namespace
