//===- ProfiledKernelsTest.cpp - Kernels by their names in profiles -------===//
//
// SPDX-License-Identifier: Apache-2.0
//---------------===//

#include "mf/Program/Signatures/ProfiledKernels.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

TensorShape bf16(std::initializer_list<int64_t> dims) {
  return {DType::BF16, dims};
}
TensorShape f32(std::initializer_list<int64_t> dims) {
  return {DType::F32, dims};
}

/// FLOPs of a launch that a profiler shows so; none if it is not clear.
std::optional<int64_t> getFlops(llvm::StringRef type,
                                llvm::ArrayRef<TensorShape> inputs,
                                llvm::ArrayRef<TensorShape> outputs) {
  const KernelSignature *signature = findProfiledKernel(type);
  if (!signature)
    return std::nullopt;
  const auto spec = getProfiledSpec(*signature, inputs, outputs);
  if (!spec)
    return std::nullopt;
  EXPECT_EQ(llvm::toString(checkAgainstSignature(*spec)), "");
  return signature->getFlops(*spec);
}

std::optional<int64_t> getMeasure(llvm::StringRef measure, llvm::StringRef type,
                                  llvm::ArrayRef<TensorShape> inputs,
                                  llvm::ArrayRef<TensorShape> outputs) {
  const KernelSignature *signature = findProfiledKernel(type);
  const auto spec = getProfiledSpec(*signature, inputs, outputs);
  return spec ? signature->getMeasure(*spec, measure) : std::nullopt;
}

TEST(ProfiledKernelsTest, FindsKernelsByOurNamesAndByDevices) {
  ASSERT_NE(findProfiledKernel("MatMulV3"), nullptr);
  EXPECT_EQ(findProfiledKernel("MatMulV3")->name, "aclnnMatmul");
  EXPECT_EQ(findProfiledKernel("aclnnMatmul")->name, "aclnnMatmul");
  EXPECT_EQ(findProfiledKernel("MatMulV99"), nullptr);
  for (const KernelSignature &signature : getKernelSignatures())
    for (llvm::StringRef name : signature.profiled)
      EXPECT_EQ(findProfiledKernel(name), &signature) << name.str();
}

TEST(ProfiledKernelsTest, FindsTheTranspositionsOfProducts) {
  const int64_t flops = 2 * 3 * 5 * 7;
  for (const TensorShape &a : {bf16({3, 5}), bf16({5, 3})})
    for (const TensorShape &b : {bf16({5, 7}), bf16({7, 5})})
      EXPECT_EQ(getFlops("MatMulV2", {a, b}, {bf16({3, 7})}), flops);
  EXPECT_EQ(getFlops("MatMulV2", {bf16({3, 5}), bf16({7, 5}), f32({7})},
                     {bf16({3, 7})}),
            flops)
      << "with a bias";
  EXPECT_EQ(getFlops("BatchMatMulV2", {bf16({2, 3, 5}), bf16({2, 7, 5})},
                     {bf16({2, 3, 7})}),
            2 * flops);
  EXPECT_EQ(getFlops("aclnnMatmul", {bf16({2, 5, 3}), bf16({2, 5, 7})},
                     {f32({3, 7})}),
            2 * flops)
      << "summed over the batch";
  // The weight in the cube's own format.
  EXPECT_EQ(getFlops("MatMulV3", {bf16({32, 64}), bf16({3, 4, 16, 16})},
                     {bf16({32, 48})}),
            2 * 32 * 64 * 48);
  EXPECT_EQ(getMeasure("rows", "MatMulV2", {bf16({5, 3}), bf16({7, 5})},
                       {bf16({3, 7})}),
            3);
  EXPECT_EQ(getFlops("MatMulV2", {bf16({3, 5}), bf16({6, 7})}, {bf16({3, 7})}),
            std::nullopt);
  EXPECT_EQ(getFlops("MatMulV2", {bf16({3, 5})}, {bf16({3, 7})}), std::nullopt);
}

TEST(ProfiledKernelsTest, ReadsAttentionInAnyLayout) {
  // 2 sequences of 64, 4 heads of 16 over 2 heads of keys.
  const TensorShape softmax = f32({2, 4, 64, 8}), mask{DType::I32, {64, 64}};
  const TensorShape empty = bf16({0});
  const auto flops = getFlops(
      "aclnnFlashAttentionScore",
      {bf16({2, 4, 64, 16}), bf16({2, 2, 64, 16}), bf16({2, 2, 64, 16})},
      {f32({2, 4, 64}), f32({2, 4, 64}), bf16({2, 4, 64, 16})});
  ASSERT_TRUE(flops.has_value());
  const std::pair<TensorShape, TensorShape> layouts[] = {
      {bf16({2, 4, 64, 16}), bf16({2, 2, 64, 16})},
      {bf16({2, 64, 4, 16}), bf16({2, 64, 2, 16})},
      {bf16({2, 64, 64}), bf16({2, 64, 32})},
      {bf16({64, 2, 64}), bf16({64, 2, 32})}};
  for (const auto &[query, key] : layouts) {
    const std::vector<TensorShape> inputs = {query, key, key, mask};
    EXPECT_EQ(getFlops("FlashAttentionScore", inputs,
                       {softmax, softmax, empty, query}),
              flops);
    EXPECT_EQ(getMeasure("keys", "FlashAttentionScore", inputs,
                         {softmax, softmax, empty, query}),
              64);
    EXPECT_EQ(getMeasure("head_size", "FlashAttentionScore", inputs,
                         {softmax, softmax, empty, query}),
              16);
    EXPECT_EQ(getFlops("FlashAttentionScoreGrad",
                       {query, key, key, query, mask, softmax, softmax, query},
                       {query, key, key}),
              *flops / 2 * 5);
  }
  // Heads of 8 elements look like the softmax of a device.
  const TensorShape head = f32({2, 4, 64, 8}), sums = f32({2, 4, 64});
  EXPECT_EQ(getFlops("aclnnFlashAttentionScoreGrad",
                     {head, head, head, head, sums, sums, head},
                     {head, head, head}),
            getFlops("aclnnFlashAttentionScore", {head, head, head},
                     {sums, sums, head})
                    .value_or(0) /
                2 * 5);
  EXPECT_EQ(getFlops("FlashAttentionScore",
                     {bf16({128, 64}), bf16({128, 32}), bf16({128, 32})},
                     {f32({128, 4, 8}), f32({128, 4, 8}), bf16({128, 64})}),
            std::nullopt)
      << "sequences of unknown lengths, packed";
}

TEST(ProfiledKernelsTest, FindsWhatStaysInPlaceOfPermutations) {
  EXPECT_EQ(getMeasure("run_bytes", "Transpose",
                       {bf16({2, 3, 5, 16}), {DType::I64, {4}}},
                       {bf16({2, 5, 3, 16})}),
            32);
  EXPECT_EQ(
      getMeasure("run_bytes", "Transpose", {bf16({3, 5})}, {bf16({5, 3})}), 2);
  EXPECT_EQ(getFlops("Transpose", {bf16({3, 5})}, {bf16({15})}), std::nullopt);
}

TEST(ProfiledKernelsTest, ReadsOperandsInTheOrderOfDevices) {
  const TensorShape parameter = f32({64}), number = f32({});
  const KernelSignature *adam = findProfiledKernel("ApplyAdamWV2");
  const auto spec = getProfiledSpec(
      *adam, {parameter, parameter, parameter, bf16({64}), number},
      {parameter, parameter, parameter});
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->inputs[0], bf16({64})) << "the gradient";
  // The record's own launch, with an overflow and a factor.
  EXPECT_EQ(getProfiledSpec(*findProfiledKernel("aclnnApplyAdamWV2"),
                            {bf16({64}), number, number, number, number},
                            {parameter, parameter, parameter})
                ->inputs.size(),
            5U);
  EXPECT_EQ(getFlops("GroupedMatmul",
                     {bf16({32, 16}), bf16({4, 16, 24}), {DType::I64, {4}}},
                     {bf16({32, 24})}),
            2 * 32 * 16 * 24);
  EXPECT_EQ(getFlops("GroupedMatmul",
                     {bf16({16, 32}), bf16({32, 24}), {DType::I64, {4}}},
                     {bf16({4, 16, 24})}),
            std::nullopt)
      << "the gradient of weights";
}

TEST(ProfiledKernelsTest, AnyShapesAreReadOrUnclear) {
  const TensorShape odd[] = {bf16({}), bf16({0}), bf16({1, 0, 3, 8}),
                             f32({2, 4, 64, 8}), bf16({int64_t{1} << 62, 4})};
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

/// Its steps are not shown.
TEST(ProfiledKernelsTest, AChainIsUnclear) {
  EXPECT_NE(findProfiledKernel("mfChain"), nullptr);
  EXPECT_EQ(getFlops("mfChain", {f32({4, 8})}, {f32({4, 8})}), std::nullopt);
}

} // namespace
