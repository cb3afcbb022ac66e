//===- KernelPartsTest.cpp - Parsing of the rules for parts ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelParts.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

KernelSpec makeSpec(const std::vector<std::vector<int64_t>> &inputs,
                    const std::vector<std::vector<int64_t>> &outputs,
                    AttributeMap attributes = {}) {
  KernelSpec spec;
  for (const auto &dims : inputs)
    spec.inputs.push_back({DType::F32, {dims.begin(), dims.end()}});
  for (const auto &dims : outputs)
    spec.outputs.push_back({DType::F32, {dims.begin(), dims.end()}});
  spec.attributes = std::move(attributes);
  return spec;
}

std::string getLine(const char *kernel, const KernelSpec &spec) {
  return findKernelSignature(kernel)->getParts(spec);
}

TEST(KernelPartsTest, ReadsOperands) {
  const KernelSpec spec = makeSpec({{4, 8, 16}, {16}, {1}}, {{4, 8}});
  llvm::Expected<KernelParts> parts = parseParts("+*c, K, @c -> >*", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  ASSERT_EQ(parts->inputs.size(), 3u);
  const PartOperand &first = parts->inputs[0];
  EXPECT_EQ(first.linearity, Linearity::Together);
  ASSERT_EQ(first.dims.size(), 3u);
  EXPECT_TRUE(first.dims[0].isLeading && first.dims[1].isLeading);
  EXPECT_EQ(first.dims[0].letter, 1);
  EXPECT_EQ(first.dims[1].letter, 0);
  EXPECT_EQ(first.dims[2].letter, 'c');
  EXPECT_TRUE(first.dims[2].mayBeCut());
  EXPECT_FALSE(parts->inputs[1].dims[0].mayBeCut());
  EXPECT_EQ(parts->inputs[2].firstIndexOf, 'c');
  EXPECT_EQ(parts->outputs[0].reduction, PartReduction::Largest);
  EXPECT_TRUE(parts->outputs[0].dims[0] == first.dims[0]);
}

TEST(KernelPartsTest, PartsMayBeAsLongAsAnotherDimension) {
  const KernelSpec spec = makeSpec({{4, 8}, {16, 8}, {1}}, {{4}});
  llvm::Expected<KernelParts> parts = parseParts("qD, KD, @qK -> q", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  EXPECT_EQ(parts->inputs[2].firstIndexOf, 'q');
  EXPECT_EQ(parts->inputs[2].wholeOf, 'K');
}

TEST(KernelPartsTest, ADimensionMayBeTwo) {
  const KernelSpec spec = makeSpec({{2, 12, 5}, {2, 4}}, {{12}});
  llvm::Expected<KernelParts> parts = parseParts("b(hg)D, bh -> (hg)", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  const PartDim &pair = parts->inputs[0].dims[1];
  EXPECT_TRUE(pair == parts->inputs[1].dims[1]);
  EXPECT_EQ(pair.inner, 'g');
  EXPECT_EQ(pair.innerExtent, 3);
  EXPECT_EQ(parts->outputs[0].dims[0].innerExtent, 3);
  EXPECT_EQ(parts->inputs[0].dims[2].letter, 'D');
}

TEST(KernelPartsTest, AnOutputMayBePermuted) {
  const KernelSpec spec = makeSpec({{2, 4}}, {{4, 2}});
  llvm::Expected<KernelParts> parts = parseParts("+ab -> %ba", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  EXPECT_TRUE(parts->outputs[0].isPermuted);
  EXPECT_FALSE(parts->inputs[0].isPermuted);
  EXPECT_EQ(parts->outputs[0].dims[0].letter, 'b');
}

TEST(KernelPartsTest, LastInputStandsForAllThatFollow) {
  const KernelSpec spec =
      makeSpec({{4, 2}, {4, 3}, {4, 5}}, {{4, 10}}, {{"axis", int64_t{1}}});
  llvm::Expected<KernelParts> parts =
      parseParts(getLine("aclnnCat", spec), spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  for (const PartOperand &input : parts->inputs) {
    EXPECT_EQ(input.dims[0].letter, 'a');
    EXPECT_FALSE(input.dims[1].mayBeCut());
  }
}

TEST(KernelPartsTest, RefusesWhatDoesNotFit) {
  const KernelSpec spec = makeSpec({{4, 8}}, {{4, 8}});
  EXPECT_EQ(llvm::toString(parseParts("abc -> ab", spec).takeError()),
            "'abc' does not describe an operand of 2 dimensions");
  EXPECT_EQ(llvm::toString(parseParts("-> ab", spec).takeError()),
            "describes no operand");
  EXPECT_EQ(llvm::toString(parseParts("(a1), ab -> ab", spec).takeError()),
            "'(a1)' does not describe an operand of 2 dimensions");
  const KernelSpec two = makeSpec({{6}, {4}}, {});
  EXPECT_EQ(llvm::toString(parseParts("(hg), h", two).takeError()),
            "expected a size of 'h' that divides 6");
  EXPECT_EQ(llvm::toString(parseParts("(hg), (hg)", two).takeError()),
            "expected a size of 'h' that divides 6");
}

TEST(KernelPartsTest, AnAxisMayCountFromTheEnd) {
  const auto getCumsum = [](int64_t axis) {
    return getLine("aclnnCumsum",
                   makeSpec({{2, 3, 4}}, {{2, 3, 4}}, {{"axis", axis}}));
  };
  EXPECT_EQ(getCumsum(1), "+aBc -> aBc");
  EXPECT_EQ(getCumsum(-1), "+abC -> abC");
  EXPECT_EQ(getCumsum(-3), "+Abc -> Abc");
  // The kernel refuses it.
  EXPECT_EQ(getCumsum(3), "+abc -> abc");
}

TEST(KernelPartsTest, LinesFollowAttributes) {
  EXPECT_EQ(getLine("aclnnMatmul", makeSpec({{2, 4, 8}, {16, 8}}, {{2, 4, 16}},
                                            {{"transpose_b", true}})),
            "^axy, ^zy -> axz");
  EXPECT_EQ(getLine("aclnnMatmul", makeSpec({{2, 4, 8}, {2, 4, 16}}, {{8, 16}},
                                            {{"transpose_a", true},
                                             {"contract_batch", true}})),
            "^ayx, ^ayz -> xz");
  EXPECT_EQ(getLine("aclnnPermute",
                    makeSpec({{2, 3, 4}}, {{3, 2, 4}},
                             {{"perm", std::vector<int64_t>{1, 0, 2}}})),
            "+abc -> %bac");
  EXPECT_EQ(getLine("aclnnSliceV2", makeSpec({{2, 8}}, {{2, 4}})), "+aB -> aB");
  EXPECT_EQ(
      getLine("aclnnReduceSum", makeSpec({{2, 3, 4}}, {{3, 1}},
                                         {{"axes", std::vector<int64_t>{0, 2}},
                                          {"keep_dims", false}})),
      "+abc -> b");
  const KernelSpec attention =
      makeSpec({{2, 4, 8, 16}, {2, 2, 8, 16}, {2, 2, 8, 16}},
               {{2, 4, 8}, {2, 4, 8}, {2, 4, 8, 16}}, {{"causal", true}});
  EXPECT_EQ(getLine("aclnnFlashAttentionScore", attention),
            "b(hg)QD, bhKD, bhKE, (hg) -> b(hg)Q, b(hg)Q, b(hg)QE");
  EXPECT_EQ(getLine("mfFlashAttentionPart", attention),
            "b(hg)qD, bhKD, bhKE, @qK, (hg) -> b(hg)q, b(hg)q, b(hg)qE");
  KernelSpec dropping = attention;
  dropping.inputs.push_back({DType::I1, {2, 4, 8, 8}});
  EXPECT_EQ(getLine("aclnnFlashAttentionScore", dropping),
            "b(hg)QD, bhKD, bhKE, b(hg)QK -> b(hg)Q, b(hg)Q, b(hg)QE");
  dropping.inputs.push_back({DType::I32, {2, 8}});
  EXPECT_EQ(getLine("aclnnFlashAttentionScore", dropping),
            "b(hg)QD, bhKD, bhKE, b(hg)QK, bQ -> b(hg)Q, b(hg)Q, b(hg)QE");
  KernelSpec documents = attention;
  documents.inputs.push_back({DType::I32, {1}});
  documents.inputs.push_back({DType::I32, {2, 8}});
  EXPECT_EQ(getLine("mfFlashAttentionPart", documents),
            "b(hg)qD, bhKD, bhKE, @qK, bq -> b(hg)q, b(hg)q, b(hg)qE");
}

/// Attention of `rows` queries for 8 keys.
std::string getAttentionLine(const char *kernel, int64_t rows, int64_t heads,
                             int64_t keyHeads) {
  return getLine(
      kernel,
      makeSpec({{2, heads, rows, 4}, {2, keyHeads, 8, 4}, {2, keyHeads, 8, 4}},
               {{2, heads, rows}, {2, heads, rows}, {2, heads, rows, 4}},
               {{"causal", true}}));
}

TEST(KernelPartsTest, OneQueryOfAHeadHasTheShapeOfRows) {
  const std::string groups =
      "b(hg)QD, bhKD, bhKE, (hg) -> b(hg)Q, b(hg)Q, b(hg)QE";
  const std::string rows = "bhQD, bhKD, bhKE, h -> bhQ, bhQ, bhQE";
  const char *kernel = "aclnnFlashAttentionScore";
  EXPECT_EQ(getAttentionLine(kernel, 8, 1, 1), groups);
  EXPECT_EQ(getAttentionLine(kernel, 4, 2, 1), groups);
  EXPECT_EQ(getAttentionLine(kernel, 4, 1, 1), rows);
  const std::string groupParts =
      "b(hg)qD, bhKD, bhKE, @qK, (hg) -> b(hg)q, b(hg)q, b(hg)qE";
  const std::string rowParts = "bhqD, bhKD, bhKE, @qK, h -> bhq, bhq, bhqE";
  const char *part = "mfFlashAttentionPart";
  EXPECT_EQ(getAttentionLine(part, 4, 1, 1), groupParts);
  EXPECT_EQ(getAttentionLine(part, 4, 4, 2), groupParts);
  EXPECT_EQ(getAttentionLine(part, 4, 2, 2), rowParts);
}

TEST(KernelPartsTest, LinesOfExperts) {
  const KernelSpec product =
      makeSpec({{2, 2, 9, 6}, {2, 3, 6, 5}, {2, 2, 3}}, {{2, 2, 9, 5}});
  EXPECT_EQ(getLine("aclnnGroupedMatmul", product),
            "^gpTh, ^pLhi, gpL -> gpTi");
  EXPECT_EQ(getLine("mfExpertMatmul",
                    makeSpec({{2, 2, 9, 6}, {2, 3, 5, 6}, {2, 2, 3}},
                             {{2, 2, 9, 5}}, {{"transpose_weight", true}})),
            "^gpTh, ^pLih, gpL -> gpTi");
  auto getExchange = [](double fill) {
    return getLine("mfExchangeTokens",
                   makeSpec({{2, 2, 9, 6}, {2, 2, 2, 3}, {2, 2, 2, 3}},
                            {{2, 2, 12, 6}}, {{"fill", fill}}));
  };
  EXPECT_EQ(getExchange(0), "+gPTc, gPPL, gPPL -> gPSc");
  EXPECT_EQ(getExchange(8), "gPTc, gPPL, gPPL -> gPSc");
}

} // namespace
