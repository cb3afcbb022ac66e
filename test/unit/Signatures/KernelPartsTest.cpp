//===- KernelPartsTest.cpp - Parsing of the rules for parts ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelParts.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "test/unit/CaseTable.h"
#include "test/unit/KernelSpecText.h"
#include "gtest/gtest.h"

using namespace mf;
using mf::testing::readSpec;

namespace {

std::string getLine(const KernelSpec &spec) {
  return findKernelSignature(spec.name)->getParts(spec);
}

TEST(KernelPartsTest, ReadsOperands) {
  const KernelSpec spec = readSpec("(4x8x16xf32, 16xf32, 1xf32) -> 4x8xf32");
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
  EXPECT_EQ(parts->inputs[2].firstIndexOf, "c");
  EXPECT_EQ(parts->outputs[0].reduction, PartReduction::Largest);
  EXPECT_TRUE(parts->outputs[0].dims[0] == first.dims[0]);
}

TEST(KernelPartsTest, PartsMayBeAsLongAsAnotherDimension) {
  const KernelSpec spec = readSpec("(4x8xf32, 16x8xf32, 1xf32) -> 4xf32");
  llvm::Expected<KernelParts> parts = parseParts("qD, KD, @qK -> q", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  EXPECT_EQ(parts->inputs[2].firstIndexOf, "q");
  EXPECT_EQ(parts->inputs[2].wholeOf, 'K');
}

TEST(KernelPartsTest, ADimensionMayBeTwo) {
  const KernelSpec spec = readSpec("(2x12x5xf32, 2x4xf32) -> 12xf32");
  llvm::Expected<KernelParts> parts = parseParts("b(hg)D, bh -> (hg)", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  const PartDim &pair = parts->inputs[0].dims[1];
  EXPECT_TRUE(pair == parts->inputs[1].dims[1]);
  EXPECT_EQ(pair.inner, 'g');
  EXPECT_EQ(pair.innerExtent, 3);
  EXPECT_EQ(parts->outputs[0].dims[0].innerExtent, 3);
  EXPECT_EQ(parts->inputs[0].dims[2].letter, 'D');
}

TEST(KernelPartsTest, APositionMayBeThatOfTwoDimensions) {
  const KernelSpec spec = readSpec("(2x12xf32, 2x4xf32, 1xf32)");
  llvm::Expected<KernelParts> parts = parseParts("b(hg), bh, @(hg)", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  EXPECT_EQ(parts->inputs[2].firstIndexOf, "hg");
  EXPECT_EQ(parts->inputs[2].wholeOf, 0);
  for (const char *text : {"@", "@hgi", "@(h)"})
    EXPECT_EQ(
        llvm::toString(
            parseParts(llvm::Twine("b(hg), bh, ").concat(text).str(), spec)
                .takeError()),
        "'" + std::string(text) + "' does not describe a first index");
}

TEST(KernelPartsTest, AnOutputMayBePermuted) {
  const KernelSpec spec = readSpec("(2x4xf32) -> 4x2xf32");
  llvm::Expected<KernelParts> parts = parseParts("+ab -> %ba", spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  EXPECT_TRUE(parts->outputs[0].isPermuted);
  EXPECT_FALSE(parts->inputs[0].isPermuted);
  EXPECT_EQ(parts->outputs[0].dims[0].letter, 'b');
}

TEST(KernelPartsTest, LastInputStandsForAllThatFollow) {
  const KernelSpec spec =
      readSpec("aclnnCat(4x2xf32, 4x3xf32, 4x5xf32) -> 4x10xf32 {axis = 1}");
  llvm::Expected<KernelParts> parts = parseParts(getLine(spec), spec);
  ASSERT_TRUE(static_cast<bool>(parts)) << llvm::toString(parts.takeError());
  for (const PartOperand &input : parts->inputs) {
    EXPECT_EQ(input.dims[0].letter, 'a');
    EXPECT_FALSE(input.dims[1].mayBeCut());
  }
}

TEST(KernelPartsTest, RefusesWhatDoesNotFit) {
  const KernelSpec spec = readSpec("(4x8xf32) -> 4x8xf32");
  EXPECT_EQ(llvm::toString(parseParts("abc -> ab", spec).takeError()),
            "'abc' does not describe an operand of 2 dimensions");
  EXPECT_EQ(llvm::toString(parseParts("-> ab", spec).takeError()),
            "describes no operand");
  EXPECT_EQ(llvm::toString(parseParts("(a1), ab -> ab", spec).takeError()),
            "'(a1)' does not describe an operand of 2 dimensions");
  const KernelSpec two = readSpec("(6xf32, 4xf32)");
  EXPECT_EQ(llvm::toString(parseParts("(hg), h", two).takeError()),
            "expected a size of 'h' that divides 6");
  EXPECT_EQ(llvm::toString(parseParts("(hg), (hg)", two).takeError()),
            "expected a size of 'h' that divides 6");
}

/// A specification in each line, and the rule for its parts.
constexpr llvm::StringLiteral rules = R"(
# An axis may count from the end; the kernel refuses one that there is not.
aclnnCumsum(2x3x4xf32) -> 2x3x4xf32 {axis = 1}: +aBc -> aBc
aclnnCumsum(2x3x4xf32) -> 2x3x4xf32 {axis = -1}: +abC -> abC
aclnnCumsum(2x3x4xf32) -> 2x3x4xf32 {axis = -3}: +Abc -> Abc
aclnnCumsum(2x3x4xf32) -> 2x3x4xf32 {axis = 3}: +abc -> abc
# Lines follow attributes and what is optional.
aclnnMatmul(2x4x8xf32, 16x8xf32) -> 2x4x16xf32 {transpose_b = true}: ^axy, ^zy -> axz
aclnnMatmul(2x4x8xf32, 2x4x16xf32) -> 8x16xf32 {transpose_a = true, contract_batch = true}: ^ayx, ^ayz -> xz
aclnnPermute(2x3x4xf32) -> 3x2x4xf32 {perm = [1, 0, 2]}: +abc -> %bac
aclnnSliceV2(2x8xf32) -> 2x4xf32: +aB -> aB
aclnnReduceSum(2x3x4xf32) -> 3x1xf32 {axes = [0, 2], keep_dims = false}: +abc -> b
aclnnFlashAttentionScore(2x4x8x16xf32, 2x2x8x16xf32, 2x2x8x16xf32) -> 2x4x8xf32, 2x4x8xf32, 2x4x8x16xf32 {causal = true}: b(hg)QD, bhKD, bhKE, (hg) -> b(hg)Q, b(hg)Q, b(hg)QE
mfFlashAttentionPart(2x4x8x16xf32, 2x2x8x16xf32, 2x2x8x16xf32) -> 2x4x8xf32, 2x4x8xf32, 2x4x8x16xf32 {causal = true}: b(hg)qD, bhKD, bhKE, @qK, (hg) -> b(hg)q, b(hg)q, b(hg)qE
aclnnFlashAttentionScore(2x4x8x16xf32, 2x2x8x16xf32, 2x2x8x16xf32, 2x4x8x8xi1) -> 2x4x8xf32, 2x4x8xf32, 2x4x8x16xf32 {causal = true}: b(hg)QD, bhKD, bhKE, b(hg)QK -> b(hg)Q, b(hg)Q, b(hg)QE
aclnnFlashAttentionScore(2x4x8x16xf32, 2x2x8x16xf32, 2x2x8x16xf32, 2x4x8x8xi1, 2x8xi32) -> 2x4x8xf32, 2x4x8xf32, 2x4x8x16xf32 {causal = true}: b(hg)QD, bhKD, bhKE, b(hg)QK, bQ -> b(hg)Q, b(hg)Q, b(hg)QE
mfFlashAttentionPart(2x4x8x16xf32, 2x2x8x16xf32, 2x2x8x16xf32, 1xi32, 2x8xi32) -> 2x4x8xf32, 2x4x8xf32, 2x4x8x16xf32 {causal = true}: b(hg)qD, bhKD, bhKE, @qK, bq -> b(hg)q, b(hg)q, b(hg)qE
# One query of a head has the shape of rows. All queries are for 8 keys.
aclnnFlashAttentionScore(2x1x8x4xf32, 2x1x8x4xf32, 2x1x8x4xf32) -> 2x1x8xf32, 2x1x8xf32, 2x1x8x4xf32 {causal = true}: b(hg)QD, bhKD, bhKE, (hg) -> b(hg)Q, b(hg)Q, b(hg)QE
aclnnFlashAttentionScore(2x2x4x4xf32, 2x1x8x4xf32, 2x1x8x4xf32) -> 2x2x4xf32, 2x2x4xf32, 2x2x4x4xf32 {causal = true}: b(hg)QD, bhKD, bhKE, (hg) -> b(hg)Q, b(hg)Q, b(hg)QE
aclnnFlashAttentionScore(2x1x4x4xf32, 2x1x8x4xf32, 2x1x8x4xf32) -> 2x1x4xf32, 2x1x4xf32, 2x1x4x4xf32 {causal = true}: bhQD, bhKD, bhKE, h -> bhQ, bhQ, bhQE
mfFlashAttentionPart(2x1x4x4xf32, 2x1x8x4xf32, 2x1x8x4xf32) -> 2x1x4xf32, 2x1x4xf32, 2x1x4x4xf32 {causal = true}: b(hg)qD, bhKD, bhKE, @qK, (hg) -> b(hg)q, b(hg)q, b(hg)qE
mfFlashAttentionPart(2x4x4x4xf32, 2x2x8x4xf32, 2x2x8x4xf32) -> 2x4x4xf32, 2x4x4xf32, 2x4x4x4xf32 {causal = true}: b(hg)qD, bhKD, bhKE, @qK, (hg) -> b(hg)q, b(hg)q, b(hg)qE
mfFlashAttentionPart(2x2x4x4xf32, 2x2x8x4xf32, 2x2x8x4xf32) -> 2x2x4xf32, 2x2x4xf32, 2x2x4x4xf32 {causal = true}: bhqD, bhKD, bhKE, @qK, h -> bhq, bhq, bhqE
# Keys in blocks tie the queries of a rank to its block. All queries are for all blocks.
mfHybridAttention(2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}: bSND, bKD, N, bGD, bSC -> bSND, bSN
mfHybridAttention(2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}: bSND, bOKD, N, bGD, bSC -> bSND, bSN
mfHybridAttentionPart(2x4x3x4xf32, 2x8x4xf32, 3xf32, 1xi32, 2x4x4xf32) -> 2x4x3x4xf32, 2x4x3xf32 {ratio = 2, scale = 0.3, window = 3}: bsND, bKD, N, @sK, bGD, bsC -> bsND, bsN
mfHybridAttentionPart(2x4x3x4xf32, 2x1x6x4xf32, 3xf32, 1xi32, 2x4x4xf32) -> 2x4x3x4xf32, 2x4x3xf32 {ratio = 2, scale = 0.3, window = 3}: b(os)ND, boKD, N, @(os), bGD, b(os)C -> b(os)ND, b(os)N
mfHybridAttentionPart(2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 1xi32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}: b(oS)ND, boKD, N, @(oS), bGD, b(oS)C -> b(oS)ND, b(oS)N
# Experts.
aclnnGroupedMatmul(2x2x9x6xf32, 2x3x6x5xf32, 2x2x3xf32) -> 2x2x9x5xf32: ^gpTh, ^pLhi, gpL -> gpTi
mfExpertMatmul(2x2x9x6xf32, 2x3x5x6xf32, 2x2x3xf32) -> 2x2x9x5xf32 {transpose_weight = true}: ^gpTh, ^pLih, gpL -> gpTi
mfExchangeTokens(2x2x9x6xf32, 2x2x2x3xf32, 2x2x2x3xf32) -> 2x2x12x6xf32 {fill = 0.0}: +gPTc, gPPL, gPPL -> gPSc
mfExchangeTokens(2x2x9x6xf32, 2x2x2x3xf32, 2x2x2x3xf32) -> 2x2x12x6xf32 {fill = 8.0}: gPTc, gPPL, gPPL -> gPSc
)";

TEST(KernelPartsTest, RulesFollowShapesAndAttributes) {
  for (const auto &[spec, rule] : readTable(rules, ": "))
    EXPECT_EQ(getLine(readSpec(spec)), rule.str()) << spec.str();
}

} // namespace
