//===- KernelChainTest.cpp - Kernels that run as one ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelChain.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

using Ints = std::vector<int64_t>;
using FusedKernels = std::vector<FusedKernel>;

const TensorShape wide{DType::F32, {4, 6}}, half{DType::F32, {4, 3}},
    row{DType::F32, {6}}, narrow{DType::BF16, {4, 6}};

KernelSpec makeChain(llvm::SmallVector<TensorShape, 4> inputs,
                     const TensorShape &output, const FusedKernels &kernels) {
  return {"mfChain", std::move(inputs), {output}, {{"steps", kernels}}};
}

std::string check(const KernelSpec &chain) {
  return llvm::toString(checkChain(chain));
}

AttributeMap slice(int64_t first) {
  return {{"starts", Ints{0, first}}, {"sizes", Ints{4, 3}}};
}

TEST(KernelChainTest, HasTheSpecificationsOfItsKernels) {
  const KernelSpec chain =
      makeChain({wide, row}, narrow,
                {{"aclnnMul", {0, 1}, wide, {}},
                 {"aclnnMuls", {~0}, wide, {{"value", 0.5}}},
                 {"aclnnCast", {~1}, narrow, {}}});
  EXPECT_EQ(check(chain), "");
  const std::vector<KernelSpec> kernels = getFusedSpecs(chain);
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].name, "aclnnMul");
  EXPECT_EQ(kernels[0].inputs[1], row);
  EXPECT_EQ(kernels[1].inputs[0], wide);
  EXPECT_EQ(std::get<double>(kernels[1].attributes.at("value")), 0.5);
  EXPECT_EQ(kernels[2].outputs[0], narrow);
  EXPECT_TRUE(getFusedSpecs({"aclnnNeg", {wide}, {wide}, {}}).empty());
  EXPECT_TRUE(
      getFusedSpecs(makeChain({wide}, wide, {{"aclnnNeg", {1}, wide, {}}}))
          .empty());
}

TEST(KernelChainTest, MovesInputsAndResultOnly) {
  const KernelSpec chain = makeChain(
      {wide, row}, narrow,
      {{"aclnnMul", {0, 1}, wide, {}}, {"aclnnCast", {~0}, narrow, {}}});
  const KernelSignature &signature = *findKernelSignature("mfChain");
  EXPECT_EQ(signature.getBytes(chain), 4 * 24 + 4 * 6 + 2 * 24);
  EXPECT_EQ(signature.getFlops(chain), 24 + 24);
  EXPECT_EQ(signature.getWorkspaceBytes(chain), 0);
  EXPECT_TRUE(signature.mayShareMemory(0, 1));
}

TEST(KernelChainTest, KernelsWorkRowByRow) {
  EXPECT_EQ(check(makeChain({wide}, half,
                            {{"aclnnSliceV2", {0}, half, slice(3)},
                             {"aclnnNeg", {~0}, half, {}}})),
            "");
  EXPECT_EQ(
      check(makeChain({wide}, {DType::F32, {2, 6}},
                      {{"aclnnSliceV2",
                        {0},
                        {DType::F32, {2, 6}},
                        {{"starts", Ints{0, 0}}, {"sizes", Ints{2, 6}}}}})),
      "mfChain: kernel t0 (aclnnSliceV2) cannot be fused: it changes more than "
      "the last dimension");
  EXPECT_EQ(check(makeChain({half, half}, {DType::F32, {8, 3}},
                            {{"aclnnCat",
                              {0, 1},
                              {DType::F32, {8, 3}},
                              {{"axis", int64_t{0}}}}})),
            "mfChain: kernel t0 (aclnnCat) cannot be fused: it changes more "
            "than the last dimension");
  EXPECT_EQ(check(makeChain({half}, wide,
                            {{"aclnnConstantPadNd",
                              {0},
                              wide,
                              {{"low", Ints{0, 3}},
                               {"high", Ints{0, 0}},
                               {"value", int64_t{1}}}}})),
            "mfChain: kernel t0 (aclnnConstantPadNd) cannot be fused: it "
            "changes more than the last dimension");
}

TEST(KernelChainTest, EveryKernelIsReadAndReadsWhatIsThere) {
  EXPECT_EQ(check(makeChain({wide}, wide, {{"aclnnNeg", {~0}, wide, {}}})),
            "mfChain: kernel t0 (aclnnNeg) reads t0, which is no input of the "
            "chain and no kernel before it");
  EXPECT_EQ(check(makeChain({wide, row}, wide, {{"aclnnNeg", {0}, wide, {}}})),
            "mfChain: no kernel reads in1");
  EXPECT_EQ(check(makeChain(
                {wide}, wide,
                {{"aclnnNeg", {0}, wide, {}}, {"aclnnSilu", {0}, wide, {}}})),
            "mfChain: no kernel reads t0");
}

TEST(KernelChainTest, KernelsAgreeWithTheirSignatures) {
  EXPECT_EQ(check(makeChain({wide}, wide, {{"aclnnAdd", {0}, wide, {}}})),
            "mfChain: kernel t0: aclnnAdd: expected 2 inputs, but got 1");
  EXPECT_EQ(check(makeChain({wide}, wide, {{"aclnnMuls", {0}, wide, {}}})),
            "mfChain: kernel t0: aclnnMuls: attribute 'value' is missing");
  EXPECT_EQ(check(makeChain({wide}, wide, {{"aclnnNegg", {0}, wide, {}}})),
            "mfChain: kernel t0: unknown kernel 'aclnnNegg'; did you mean "
            "'aclnnNeg'?");
}

TEST(KernelChainTest, ResultsOfKernelsAreNotRepeated) {
  const TensorShape column{DType::F32, {4, 1}};
  EXPECT_EQ(
      check(makeChain(
          {column, wide}, wide,
          {{"aclnnNeg", {0}, column, {}}, {"aclnnMul", {~0, 1}, wide, {}}})),
      "mfChain: kernel t1 (aclnnMul) repeats the elements of t0; expected "
      "a kernel of the shape of its result");
}

/// Rows of such an input would be overwritten before they are read.
TEST(KernelChainTest, AnInputOfTheOutputsBytesHasItsShape) {
  const TensorShape table{DType::F32, {3}}, output{DType::BF16, {2, 3}};
  EXPECT_EQ(check(makeChain({table, {DType::F32, {2, 3}}}, output,
                            {{"aclnnMul", {1, 0}, {DType::F32, {2, 3}}, {}},
                             {"aclnnCast", {~0}, output, {}}})),
            "mfChain: in0 has as many bytes as the output in another shape");
}

} // namespace
