//===- KernelSignatureTest.cpp - The tables of AscendKernels.td -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelSignature.h"
#include "test/unit/KernelSpecText.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace mf;
using mf::testing::readSpec;

namespace {

std::string check(const KernelSpec &spec) {
  return llvm::toString(checkAgainstSignature(spec));
}

TensorShape shape(std::initializer_list<int64_t> dims,
                  DType type = DType::F32) {
  return {type, dims};
}

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
  EXPECT_FALSE(findKernelSignature("aclnnMatmul")->mayShareMemory(0, 1));
  EXPECT_EQ(findKernelSignature("aclnnCat")->getInput(7).name, "tensors");
  EXPECT_TRUE(readsMemory(Access::In) && !writesMemory(Access::In));
  EXPECT_TRUE(!readsMemory(Access::Out) && writesMemory(Access::Out));
  for (Access access : {Access::Updated, Access::Accumulated})
    EXPECT_TRUE(readsMemory(access) && writesMemory(access));
}

TEST(KernelSignatureTest, NamesAreThoseOfTheRecords) {
  EXPECT_EQ(getName(Access::In), "in");
  EXPECT_EQ(getName(Access::Out), "out");
  EXPECT_EQ(getName(Access::Updated), "updated");
  EXPECT_EQ(getName(Access::Accumulated), "accumulated");
  EXPECT_EQ(getName(Engine::Cube), "cube");
  EXPECT_EQ(getName(Engine::Vector), "vector");
  EXPECT_EQ(getName(Engine::Copy), "copy");
  EXPECT_EQ(getName(Engine::Communication), "communication");
}

int64_t flops(const KernelSpec &spec) {
  EXPECT_EQ(check(spec), "");
  return findKernelSignature(spec.name)->getFlops(spec);
}

int64_t bytes(llvm::StringRef text) {
  const KernelSpec spec = readSpec(text);
  EXPECT_EQ(check(spec), "");
  return findKernelSignature(spec.name)->getBytes(spec);
}

TEST(KernelSignatureTest, CountsFlops) {
  const TensorShape q = shape({2, 8, 16, 4}), k = shape({2, 2, 32, 4});
  const TensorShape rows = shape({2, 8, 16});
  const int64_t pairs = 2 * 8 * 16 * 32;
  EXPECT_EQ(flops({"aclnnFlashAttentionScore",
                   {q, k, k},
                   {rows, rows, q},
                   {{"scale", 1.0}, {"causal", false}}}),
            2 * 2 * pairs * 4);
  EXPECT_EQ(flops({"aclnnFlashAttentionScoreGrad",
                   {q, k, k, q, rows, rows, q},
                   {q, k, k},
                   {{"scale", 1.0}}}),
            2 * 5 * pairs * 4 * 3 / 4);
  EXPECT_EQ(flops(readSpec("aclnnRmsNorm(6x4xf32, 4xf32) -> 6x4xf32, 6xf32 "
                           "{epsilon = 0.0}")),
            24);
  EXPECT_EQ(flops(readSpec("aclnnMatmul(4294967296x4xf32, 4x4294967296xf32) -> "
                           "4294967296x1xf32")),
            INT64_MAX);
}

int64_t measure(const KernelSpec &spec, llvm::StringRef name) {
  EXPECT_EQ(check(spec), "");
  return findKernelSignature(spec.name)->getMeasure(spec, name).value_or(-1);
}

/// Spec section 4: forward 2 b n s s d if causal; backward 2.5 times as much.
TEST(KernelSignatureTest, CausalAttentionCountsTheKeysThatAreSeen) {
  const int64_t b = 2, n = 8, s = 4096, d = 128;
  const TensorShape q = shape({b, n, s, d}, DType::BF16),
                    rows = shape({b, n, s});
  const int64_t forward = 2 * b * n * s * s * d;
  auto score = [&](bool causal, const TensorShape &query) {
    return KernelSpec{"aclnnFlashAttentionScore",
                      {query, q, q},
                      {rows, rows, query},
                      {{"scale", 1.0}, {"causal", causal}}};
  };
  const KernelSpec grad = {"aclnnFlashAttentionScoreGrad",
                           {q, q, q, q, rows, rows, q},
                           {q, q, q},
                           {{"scale", 1.0}}};
  EXPECT_EQ(flops(score(true, q)), forward);
  EXPECT_EQ(flops(score(false, q)), 2 * forward);
  EXPECT_EQ(flops(grad), forward * 5 / 2);
  // Published utilisations count all pairs of a query and a key.
  EXPECT_EQ(measure(score(true, q), "full_flops"), 2 * forward);
  EXPECT_EQ(measure(score(false, q), "full_flops"), 2 * forward);
  EXPECT_EQ(measure(grad, "full_flops"), 5 * forward);
  // The second half of the rows sees three quarters of the keys.
  const TensorShape half = shape({b, n, s / 2, d}, DType::BF16);
  EXPECT_EQ(flops(score(true, half)), forward * 3 / 4);
  EXPECT_EQ(flops({"mfFlashAttentionPart",
                   {half, q, q, shape({1}, DType::I32)},
                   {rows, rows, half},
                   {{"scale", 1.0}}}),
            forward * 3 / 4);
  EXPECT_EQ(flops({"mfFlashAttentionPart",
                   {half, q, q, shape({1}, DType::I32)},
                   {rows, rows, half},
                   {{"scale", 1.0}, {"causal", false}}}),
            forward);
  // Values of another size, as in latent attention.
  const TensorShape v = shape({b, n, s, d / 2}, DType::BF16);
  EXPECT_EQ(flops({"aclnnFlashAttentionScore",
                   {q, q, v},
                   {rows, rows, v},
                   {{"scale", 1.0}}}),
            forward * 3 / 4);
  EXPECT_EQ(flops({"aclnnFlashAttentionScoreGrad",
                   {q, q, v, v, rows, rows, v},
                   {q, q, v},
                   {{"scale", 1.0}}}),
            forward * (3 * 2 + 2) / 4);
}

TEST(KernelSignatureTest, MeasuresAreWhatShapesSay) {
  const TensorShape q = shape({2, 8, 16, 4}), k = shape({2, 2, 32, 4});
  const TensorShape rows = shape({2, 8, 16});
  const KernelSpec attention = {
      "aclnnFlashAttentionScore", {q, k, k}, {rows, rows, q}, {{"scale", 1.0}}};
  EXPECT_EQ(measure(attention, "keys"), 32);
  EXPECT_EQ(measure(attention, "queries"), 16);
  EXPECT_EQ(measure(attention, "head_size"), 4);
  EXPECT_EQ(measure(attention, "query_rows"), 8 * 16);
  EXPECT_EQ(measure(attention, "largest_operand_bytes"), 2 * 8 * 16 * 4 * 4);
  EXPECT_EQ(measure(attention, "element_bytes"), 4);
  EXPECT_EQ(measure(attention, "columns"), -1);
  auto expectSize = [](llvm::StringRef text, int64_t batch, int64_t m,
                       int64_t k, int64_t n) {
    const KernelSpec spec = readSpec(text);
    EXPECT_EQ(measure(spec, "batch"), batch);
    EXPECT_EQ(measure(spec, "rows"), m);
    EXPECT_EQ(measure(spec, "inner"), k);
    EXPECT_EQ(measure(spec, "columns"), n);
    EXPECT_EQ(measure(spec, "flops"), 2 * batch * m * k * n);
  };
  // Rows of all sequences share the weight.
  expectSize("aclnnMatmul(5x3x4xf32, 4x7xf32) -> 5x3x7xf32", 1, 15, 4, 7);
  expectSize("aclnnMatmul(5x3x4xf32, 5x7x3xf32) -> 5x4x7xf32 "
             "{transpose_a = true, transpose_b = true}",
             5, 4, 3, 7);
  expectSize("aclnnMatmul(5x3x4xf32, 5x3x7xf32) -> 4x7xf32 "
             "{transpose_a = true, contract_batch = true}",
             1, 4, 15, 7);
  // Two groups of 40 rows among 2 ranks of 4 experts.
  const KernelSpec grouped =
      readSpec("aclnnGroupedMatmul(2x2x40x16xf32, 2x4x16x24xf32, 2x2x4xf32) -> "
               "2x2x40x24xf32");
  EXPECT_EQ(measure(grouped, "experts"), 8);
  EXPECT_EQ(measure(grouped, "rows"), 20);
  EXPECT_EQ(measure(grouped, "inner"), 16);
  EXPECT_EQ(measure(grouped, "columns"), 24);
  auto permute = [](std::vector<int64_t> order) {
    return KernelSpec{"aclnnPermute",
                      {shape({2, 3, 4, 5}, DType::BF16)},
                      {shape({2, 3, 4, 5}, DType::BF16)},
                      {{"perm", std::move(order)}}};
  };
  EXPECT_EQ(measure(permute({0, 2, 1, 3}), "run_bytes"), 10);
  EXPECT_EQ(measure(permute({1, 0, 2, 3}), "run_bytes"), 40);
  EXPECT_EQ(measure(permute({0, 1, 3, 2}), "run_bytes"), 2);
}

TEST(KernelSignatureTest, CountsBytes) {
  EXPECT_EQ(bytes("aclnnNeg(6xf32) -> 6xf32"), 48);
  EXPECT_EQ(bytes("aclnnInplaceZero() -> 6xf32"), 24);
  EXPECT_EQ(bytes("aclnnInplaceAdd(6xbf16) -> 6xf32"), 12 + 24 + 24);
  EXPECT_EQ(bytes("aclnnEmbedding(1000x8xf32, 3xi32) -> 3x8xf32"), 12 + 2 * 96);
}

int64_t workspace(const KernelSpec &spec) {
  EXPECT_EQ(check(spec), "");
  return findKernelSignature(spec.name)->getWorkspaceBytes(spec);
}

TEST(KernelSignatureTest, WorkspacesFollowFromShapes) {
  auto norm = [](int64_t rows, int64_t columns, DType gamma) {
    return workspace({"aclnnRmsNorm",
                      {shape({rows, columns}), shape({columns}, gamma)},
                      {shape({rows, columns}), shape({rows})},
                      {{"epsilon", 0.0}}});
  };
  EXPECT_EQ(norm(100, 8, DType::F32), 0);
  EXPECT_EQ(norm(100, 8, DType::BF16), 32);
  auto grad = [](int64_t rows, int64_t columns, DType gamma) {
    const TensorShape x = shape({rows, columns}), g = shape({columns}, gamma);
    return workspace(
        {"aclnnRmsNormGrad", {x, x, shape({rows}), g}, {x, g}, {}});
  };
  EXPECT_EQ(grad(3, 8, DType::F32), 3 * 32);
  EXPECT_EQ(grad(17, 8, DType::F32), 9 * 32);
  EXPECT_EQ(grad(17, 8, DType::F16), 10 * 32);
  EXPECT_EQ(grad(0, 8, DType::F32), 0);
  EXPECT_EQ(workspace(readSpec("aclnnLayerNorm(17x8xf32, 8xf16, 8xf16) -> "
                               "17x8xf32, 17xf32, 17xf32 {eps = 1e-5}")),
            2 * 32);
  const std::string backward =
      "aclnnLayerNormBackward(17x8xf32, 17x8xf32, 17xf32, 17xf32, 8xf16) -> ";
  EXPECT_EQ(workspace(readSpec(backward + "17x8xf32, 8xf16, 8xf16")),
            32 + 2 * 9 * 32);
  EXPECT_EQ(workspace(readSpec(backward + "17x8xf32")), 32);
  EXPECT_EQ(workspace(readSpec("aclnnForeachNorm(65537xf32) -> f32")), 8);
}

TEST(KernelSignatureTest, SumsNeedAWorkspaceWhereResultsAreFew) {
  auto sum = [](std::initializer_list<int64_t> dims,
                std::vector<int64_t> axes) {
    return workspace(
        {"aclnnReduceSum", {shape(dims)}, {shape({})}, {{"axes", axes}}});
  };
  EXPECT_EQ(sum({64}, {0}), 0);
  EXPECT_EQ(sum({4096, 64}, {0}), 16 * 64 * 4);
  EXPECT_EQ(sum({4096, 64}, {-2}), 16 * 64 * 4);
  EXPECT_EQ(sum({4096, 64}, {1}), 0);
  EXPECT_EQ(sum({1 << 20}, {0}), 16 * 4);
  EXPECT_EQ(sum({0, 64}, {0}), 0);
  // Axes that do not exist are for the kernel to refuse.
  EXPECT_EQ(sum({64}, {7}), 0);
}

} // namespace
