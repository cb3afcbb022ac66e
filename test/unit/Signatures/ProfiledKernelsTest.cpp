//===- ProfiledKernelsTest.cpp - Kernels by their names in profiles -------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/ProfiledKernels.h"
#include "test/unit/CaseTable.h"
#include "test/unit/KernelSpecText.h"
#include "gtest/gtest.h"

using namespace mf;
using mf::testing::readSpec;
using mf::testing::splitList;

namespace {

TEST(ProfiledKernelsTest, FindsKernelsByOurNamesAndByDevices) {
  ASSERT_NE(findProfiledKernel("MatMulV3"), nullptr);
  EXPECT_EQ(findProfiledKernel("MatMulV3")->name, "aclnnMatmul");
  EXPECT_EQ(findProfiledKernel("aclnnMatmul")->name, "aclnnMatmul");
  EXPECT_EQ(findProfiledKernel("MatMulV99"), nullptr);
  for (const KernelSignature &signature : getKernelSignatures())
    for (llvm::StringRef name : signature.profiled)
      EXPECT_EQ(findProfiledKernel(name), &signature) << name.str();
}

/// A launch as a profiler shows it in each line, and what it counts, or that it
/// is not clear what it does.
constexpr llvm::StringLiteral launches = R"(
# Products may be transposed, have a bias, a batch, or a weight in the cube's own format.
MatMulV2(3x5xbf16, 5x7xbf16) -> 3x7xbf16: flops 210
MatMulV2(3x5xbf16, 7x5xbf16) -> 3x7xbf16: flops 210
MatMulV2(5x3xbf16, 5x7xbf16) -> 3x7xbf16: flops 210
MatMulV2(5x3xbf16, 7x5xbf16) -> 3x7xbf16: flops 210, rows 3
MatMulV2(3x5xbf16, 7x5xbf16, 7xf32) -> 3x7xbf16: flops 210
BatchMatMulV2(2x3x5xbf16, 2x7x5xbf16) -> 2x3x7xbf16: flops 420
aclnnMatmul(2x5x3xbf16, 2x5x7xbf16) -> 3x7xf32: flops 420
MatMulV3(32x64xbf16, 3x4x16x16xbf16) -> 32x48xbf16: flops 196608
MatMulV2(3x5xbf16, 6x7xbf16) -> 3x7xbf16: unclear
MatMulV2(3x5xbf16) -> 3x7xbf16: unclear
# Attention of 2 sequences of 64, 4 heads of 16 over 2 heads of keys, in any layout.
aclnnFlashAttentionScore(2x4x64x16xbf16, 2x2x64x16xbf16, 2x2x64x16xbf16) -> 2x4x64xf32, 2x4x64xf32, 2x4x64x16xbf16: flops 1048576
FlashAttentionScore(2x4x64x16xbf16, 2x2x64x16xbf16, 2x2x64x16xbf16, 64x64xi32) -> 2x4x64x8xf32, 2x4x64x8xf32, 0xbf16, 2x4x64x16xbf16: flops 1048576, keys 64, head_size 16
FlashAttentionScore(2x64x4x16xbf16, 2x64x2x16xbf16, 2x64x2x16xbf16, 64x64xi32) -> 2x4x64x8xf32, 2x4x64x8xf32, 0xbf16, 2x64x4x16xbf16: flops 1048576, keys 64, head_size 16
FlashAttentionScore(2x64x64xbf16, 2x64x32xbf16, 2x64x32xbf16, 64x64xi32) -> 2x4x64x8xf32, 2x4x64x8xf32, 0xbf16, 2x64x64xbf16: flops 1048576, keys 64, head_size 16
FlashAttentionScore(64x2x64xbf16, 64x2x32xbf16, 64x2x32xbf16, 64x64xi32) -> 2x4x64x8xf32, 2x4x64x8xf32, 0xbf16, 64x2x64xbf16: flops 1048576, keys 64, head_size 16
FlashAttentionScoreGrad(2x4x64x16xbf16, 2x2x64x16xbf16, 2x2x64x16xbf16, 2x4x64x16xbf16, 64x64xi32, 2x4x64x8xf32, 2x4x64x8xf32, 2x4x64x16xbf16) -> 2x4x64x16xbf16, 2x2x64x16xbf16, 2x2x64x16xbf16: flops 2621440
FlashAttentionScoreGrad(2x64x4x16xbf16, 2x64x2x16xbf16, 2x64x2x16xbf16, 2x64x4x16xbf16, 64x64xi32, 2x4x64x8xf32, 2x4x64x8xf32, 2x64x4x16xbf16) -> 2x64x4x16xbf16, 2x64x2x16xbf16, 2x64x2x16xbf16: flops 2621440
FlashAttentionScoreGrad(2x64x64xbf16, 2x64x32xbf16, 2x64x32xbf16, 2x64x64xbf16, 64x64xi32, 2x4x64x8xf32, 2x4x64x8xf32, 2x64x64xbf16) -> 2x64x64xbf16, 2x64x32xbf16, 2x64x32xbf16: flops 2621440
FlashAttentionScoreGrad(64x2x64xbf16, 64x2x32xbf16, 64x2x32xbf16, 64x2x64xbf16, 64x64xi32, 2x4x64x8xf32, 2x4x64x8xf32, 64x2x64xbf16) -> 64x2x64xbf16, 64x2x32xbf16, 64x2x32xbf16: flops 2621440
# Heads of 8 elements look like the softmax of a device.
aclnnFlashAttentionScoreGrad(2x4x64x8xf32, 2x4x64x8xf32, 2x4x64x8xf32, 2x4x64x8xf32, 2x4x64xf32, 2x4x64xf32, 2x4x64x8xf32) -> 2x4x64x8xf32, 2x4x64x8xf32, 2x4x64x8xf32: flops 1310720
# Packed sequences have unknown lengths.
FlashAttentionScore(128x64xbf16, 128x32xbf16, 128x32xbf16) -> 128x4x8xf32, 128x4x8xf32, 128x64xbf16: unclear
# What stays in its place of a permutation.
Transpose(2x3x5x16xbf16, 4xi64) -> 2x5x3x16xbf16: run_bytes 32
Transpose(3x5xbf16) -> 5x3xbf16: run_bytes 2
Transpose(3x5xbf16) -> 15xbf16: unclear
# Experts. The gradient of weights is not clear.
GroupedMatmul(32x16xbf16, 4x16x24xbf16, 4xi64) -> 32x24xbf16: flops 24576
GroupedMatmul(16x32xbf16, 32x24xbf16, 4xi64) -> 4x16x24xbf16: unclear
# The steps of a chain are not shown.
mfChain(4x8xf32) -> 4x8xf32: unclear
)";

TEST(ProfiledKernelsTest, LaunchesAreReadOrUnclear) {
  for (const auto &[text, counts] : readTable(launches, ": ")) {
    SCOPED_TRACE(text.str());
    const KernelSpec shown = readSpec(text);
    const KernelSignature *signature = findProfiledKernel(shown.name);
    ASSERT_NE(signature, nullptr);
    const auto spec = getProfiledSpec(*signature, shown.inputs, shown.outputs);
    EXPECT_EQ(spec.has_value(), counts != "unclear");
    if (!spec)
      continue;
    EXPECT_EQ(llvm::toString(checkAgainstSignature(*spec)), "");
    for (llvm::StringRef count : splitList(counts)) {
      auto [what, expected] = count.split(' ');
      const int64_t found =
          what == "flops" ? signature->getFlops(*spec)
                          : signature->getMeasure(*spec, what).value_or(-1);
      EXPECT_EQ(std::to_string(found), expected.str()) << what.str();
    }
  }
}

TEST(ProfiledKernelsTest, ReadsOperandsInTheOrderOfDevices) {
  const KernelSpec shown = readSpec("ApplyAdamWV2(64xf32, 64xf32, 64xf32, "
                                    "64xbf16, f32) -> 64xf32, 64xf32, 64xf32");
  const auto spec = getProfiledSpec(*findProfiledKernel(shown.name),
                                    shown.inputs, shown.outputs);
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->inputs[0].type, DType::BF16) << "the gradient";
  // The record's own launch, with an overflow and a factor.
  const KernelSpec own = readSpec("aclnnApplyAdamWV2(64xbf16, f32, f32, f32, "
                                  "f32) -> 64xf32, 64xf32, 64xf32");
  EXPECT_EQ(
      getProfiledSpec(*findProfiledKernel(own.name), own.inputs, own.outputs)
          ->inputs.size(),
      5U);
}

TEST(ProfiledKernelsTest, AnyShapesAreReadOrUnclear) {
  const TensorShape odd[] = {{DType::BF16, {}},
                             {DType::BF16, {0}},
                             {DType::BF16, {1, 0, 3, 8}},
                             {DType::F32, {2, 4, 64, 8}},
                             {DType::BF16, {int64_t{1} << 62, 4}}};
  for (const KernelSignature &signature : getKernelSignatures())
    for (const TensorShape &shape : odd)
      for (size_t count = 0; count < 9; ++count) {
        const std::vector<TensorShape> operands(count, shape);
        if (auto spec = getProfiledSpec(signature, operands, operands)) {
          EXPECT_EQ(llvm::toString(checkAgainstSignature(*spec)), "");
          EXPECT_GE(signature.getFlops(*spec), 0);
          EXPECT_GE(signature.getBytes(*spec), 0);
          for (const MeasureSignature &measure : signature.measures)
            EXPECT_GE(measure.get(*spec), 0);
        }
      }
}

} // namespace
