//===- KernelSignatureTest.cpp - The tables of AscendKernels.td -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelSignature.h"
#include "test/unit/CaseTable.h"
#include "test/unit/KernelSpecText.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace mf;
using mf::testing::readSpec;
using mf::testing::splitList;

namespace {

TEST(KernelSignatureTest, KernelsAreSortedAndFoundByName) {
  llvm::ArrayRef<KernelSignature> signatures = getKernelSignatures();
  ASSERT_FALSE(signatures.empty());
  EXPECT_TRUE(llvm::is_sorted(
      signatures, [](const KernelSignature &a, const KernelSignature &b) {
        return a.name < b.name;
      }));
  for (const KernelSignature &signature : signatures)
    EXPECT_EQ(findKernelSignature(signature.name), &signature);
  for (llvm::StringRef unknown : {"", "aclnn", "aclnnMatmu", "zzz"})
    EXPECT_EQ(findKernelSignature(unknown), nullptr) << unknown.str();
  EXPECT_EQ(suggestKernelName("aclnnMatMull"), "; did you mean 'aclnnMatmul'?");
  EXPECT_EQ(suggestKernelName("convolution"), "");
}

TEST(KernelSignatureTest, OperandsSayWhatHappensToTheirMemory) {
  const KernelSignature &add = *findKernelSignature("aclnnInplaceAdd");
  EXPECT_EQ(add.getInput(0).name, "other");
  EXPECT_EQ(add.getInput(0).access, Access::In);
  EXPECT_EQ(add.getOutput(0).access, Access::Accumulated);
  EXPECT_FALSE(add.mayShareMemory(0, 0));
  EXPECT_EQ(findKernelSignature("aclnnInplaceZero")->getOutput(0).access,
            Access::Out);
  const KernelSignature &mul = *findKernelSignature("aclnnMul");
  EXPECT_TRUE(mul.mayShareMemory(0, 0) && mul.mayShareMemory(0, 1));
  for (const char *apart : {"aclnnMatmul", "aclnnPermute"})
    EXPECT_FALSE(findKernelSignature(apart)->mayShareMemory(0, 0)) << apart;
  EXPECT_EQ(findKernelSignature("aclnnCat")->getInput(7).name, "tensors");
  EXPECT_TRUE(readsMemory(Access::In) && !writesMemory(Access::In));
  EXPECT_TRUE(!readsMemory(Access::Out) && writesMemory(Access::Out));
  for (Access access : {Access::Updated, Access::Accumulated})
    EXPECT_TRUE(readsMemory(access) && writesMemory(access));
}

/// A specification in each line, and what its record counts of it.
constexpr llvm::StringLiteral counts = R"(
# 2 sequences, 8 heads over 2 of keys, 16 queries of 32 keys: 8192 pairs, of which causal queries see three quarters.
aclnnFlashAttentionScore(2x8x16x4xf32, 2x2x32x4xf32, 2x2x32x4xf32) -> 2x8x16xf32, 2x8x16xf32, 2x8x16x4xf32 {scale = 1.0, causal = false}: flops 131072
aclnnFlashAttentionScore(2x8x16x4xf32, 2x2x32x4xf32, 2x2x32x4xf32) -> 2x8x16xf32, 2x8x16xf32, 2x8x16x4xf32 {scale = 1.0}: keys 32, queries 16, head_size 4, query_rows 128, largest_operand_bytes 4096, element_bytes 4, columns -1
aclnnFlashAttentionScoreGrad(2x8x16x4xf32, 2x2x32x4xf32, 2x2x32x4xf32, 2x8x16x4xf32, 2x8x16xf32, 2x8x16xf32, 2x8x16x4xf32) -> 2x8x16x4xf32, 2x2x32x4xf32, 2x2x32x4xf32 {scale = 1.0}: flops 245760
# Causal forward is 2 b n s s d, and backward 2.5 times as much. Published utilisations count all pairs.
aclnnFlashAttentionScore(2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16) -> 2x8x64xf32, 2x8x64xf32, 2x8x64x16xbf16 {scale = 1.0, causal = true}: flops 2097152, full_flops 4194304
aclnnFlashAttentionScore(2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16) -> 2x8x64xf32, 2x8x64xf32, 2x8x64x16xbf16 {scale = 1.0, causal = false}: flops 4194304, full_flops 4194304
aclnnFlashAttentionScoreGrad(2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64xf32, 2x8x64xf32, 2x8x64x16xbf16) -> 2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16 {scale = 1.0}: flops 5242880, full_flops 10485760
# The second half of the rows sees three quarters of the keys.
aclnnFlashAttentionScore(2x8x32x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16) -> 2x8x32xf32, 2x8x32xf32, 2x8x32x16xbf16 {scale = 1.0, causal = true}: flops 1572864
mfFlashAttentionPart(2x8x32x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16, 1xi32) -> 2x8x32xf32, 2x8x32xf32, 2x8x32x16xbf16 {scale = 1.0}: flops 1572864
mfFlashAttentionPart(2x8x32x16xbf16, 2x8x64x16xbf16, 2x8x64x16xbf16, 1xi32) -> 2x8x32xf32, 2x8x32xf32, 2x8x32x16xbf16 {scale = 1.0, causal = false}: flops 2097152
# Values of half the size, as in latent attention.
aclnnFlashAttentionScore(2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x8xbf16) -> 2x8x64xf32, 2x8x64xf32, 2x8x64x8xbf16 {scale = 1.0}: flops 1572864
aclnnFlashAttentionScoreGrad(2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x8xbf16, 2x8x64x8xbf16, 2x8x64xf32, 2x8x64xf32, 2x8x64x8xbf16) -> 2x8x64x16xbf16, 2x8x64x16xbf16, 2x8x64x8xbf16 {scale = 1.0}: flops 4194304
# Rows of all sequences share the weight.
aclnnMatmul(5x3x4xf32, 4x7xf32) -> 5x3x7xf32: batch 1, rows 15, inner 4, columns 7, flops 840
aclnnMatmul(5x3x4xf32, 5x7x3xf32) -> 5x4x7xf32 {transpose_a = true, transpose_b = true}: batch 5, rows 4, inner 3, columns 7, flops 840
aclnnMatmul(5x3x4xf32, 5x3x7xf32) -> 4x7xf32 {transpose_a = true, contract_batch = true}: batch 1, rows 4, inner 15, columns 7, flops 840
aclnnMatmul(4294967296x4xf32, 4x4294967296xf32) -> 4294967296x1xf32: flops 9223372036854775807
# Two groups of 40 rows among 2 ranks of 4 experts.
aclnnGroupedMatmul(2x2x40x16xf32, 2x4x16x24xf32, 2x2x4xf32) -> 2x2x40x24xf32: experts 8, rows 20, inner 16, columns 24
aclnnPermute(2x3x4x5xbf16) -> 2x4x3x5xbf16 {perm = [0, 2, 1, 3]}: run_bytes 10
aclnnPermute(2x3x4x5xbf16) -> 3x2x4x5xbf16 {perm = [1, 0, 2, 3]}: run_bytes 40
aclnnPermute(2x3x4x5xbf16) -> 2x3x5x4xbf16 {perm = [0, 1, 3, 2]}: run_bytes 2
aclnnNeg(6xf32) -> 6xf32: bytes 48
aclnnInplaceZero() -> 6xf32: bytes 24
aclnnInplaceAdd(6xbf16) -> 6xf32: bytes 60
aclnnEmbedding(1000x8xf32, 3xi32) -> 3x8xf32: bytes 204
# Workspaces follow from shapes.
aclnnRmsNorm(6x4xf32, 4xf32) -> 6x4xf32, 6xf32 {epsilon = 0.0}: flops 24, workspace 0
aclnnRmsNorm(100x8xf32, 8xbf16) -> 100x8xf32, 100xf32 {epsilon = 0.0}: workspace 32
aclnnRmsNormGrad(3x8xf32, 3x8xf32, 3xf32, 8xf32) -> 3x8xf32, 8xf32: workspace 96
aclnnRmsNormGrad(17x8xf32, 17x8xf32, 17xf32, 8xf32) -> 17x8xf32, 8xf32: workspace 288
aclnnRmsNormGrad(17x8xf32, 17x8xf32, 17xf32, 8xf16) -> 17x8xf32, 8xf16: workspace 320
aclnnRmsNormGrad(0x8xf32, 0x8xf32, 0xf32, 8xf32) -> 0x8xf32, 8xf32: workspace 0
aclnnLayerNorm(17x8xf32, 8xf16, 8xf16) -> 17x8xf32, 17xf32, 17xf32 {eps = 1e-5}: workspace 64
aclnnLayerNormBackward(17x8xf32, 17x8xf32, 17xf32, 17xf32, 8xf16) -> 17x8xf32, 8xf16, 8xf16: workspace 608
aclnnLayerNormBackward(17x8xf32, 17x8xf32, 17xf32, 17xf32, 8xf16) -> 17x8xf32: workspace 32
aclnnForeachNorm(65537xf32) -> f32: workspace 8
# Sums need one where results are few. Axes that do not exist are for the kernel to refuse.
aclnnReduceSum(64xf32) -> f32 {axes = [0]}: workspace 0
aclnnReduceSum(4096x64xf32) -> f32 {axes = [0]}: workspace 4096
aclnnReduceSum(4096x64xf32) -> f32 {axes = [-2]}: workspace 4096
aclnnReduceSum(4096x64xf32) -> f32 {axes = [1]}: workspace 0
aclnnReduceSum(1048576xf32) -> f32 {axes = [0]}: workspace 64
aclnnReduceSum(0x64xf32) -> f32 {axes = [0]}: workspace 0
aclnnReduceSum(64xf32) -> f32 {axes = [7]}: workspace 0
)";

int64_t count(llvm::StringRef what, const KernelSpec &spec) {
  const KernelSignature &signature = *findKernelSignature(spec.name);
  if (what == "bytes")
    return signature.getBytes(spec);
  if (what == "workspace")
    return signature.getWorkspaceBytes(spec);
  return what == "flops" ? signature.getFlops(spec)
                         : signature.getMeasure(spec, what).value_or(-1);
}

TEST(KernelSignatureTest, CountsFollowFromShapes) {
  for (const auto &[text, numbers] : readTable(counts, ": ")) {
    SCOPED_TRACE(text.str());
    const KernelSpec spec = readSpec(text);
    EXPECT_EQ(llvm::toString(checkAgainstSignature(spec)), "");
    for (llvm::StringRef number : splitList(numbers)) {
      auto [what, expected] = number.split(' ');
      EXPECT_EQ(std::to_string(count(what, spec)), expected.str());
    }
  }
}

} // namespace
