//===- KernelCostTest.cpp - The time of a launch --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Against numbers worked by hand from the Ascend values of docs/sources.md:
// 800T A2, 294.9 TFLOPS.
//
//===----------------------------------------------------------------------===//

#include "mf/Perf/Target/KernelCost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::target;

namespace {

constexpr double mib = 1024.0 * 1024.0;

Target makeTarget() {
  Target target;
  target.name = "a2";
  target.engines = {
      {Engine::Cube, {{DType::BF16, 294.9e12}, {DType::F32, 75e12}}},
      {Engine::Vector, {{DType::F32, 8e12}}}};
  target.memory = {int64_t{64} << 30, 1.1e12, 0.8, 64 * mib};
  const std::vector<Saturation> attention = {{"keys", 500, 0, 1},
                                             {"head_size", 0, 128, 0.7}};
  target.kernels = {{"matmul", 0.85, 1, 0, 4e-6, {}},
                    {"attention", 0.41, 1, 0, 4e-6, attention},
                    {"attention_grad", 0.41 * 0.85, 1, 0, 4e-6, attention},
                    {"norm", 0, 5, 3.75, 4e-6, {}},
                    {"elementwise", 0, 1, 0.75, 4e-6, {}},
                    {"optimizer", 0, 1, 0, 4e-6, {}},
                    {"reduction", 0, 1, 0, 4e-6, {}},
                    {"copy", 0, 1, 0, 4e-6, {}}};
  return target;
}

TensorShape narrow(std::initializer_list<int64_t> dims) {
  return {DType::BF16, dims};
}
TensorShape wide(std::initializer_list<int64_t> dims) {
  return {DType::F32, dims};
}

llvm::Expected<KernelCost> tryCost(const Target &target, const KernelSpec &spec,
                                   bool isFused = false) {
  EXPECT_FALSE(static_cast<bool>(checkAgainstSignature(spec)));
  Compilation compilation;
  compilation.graphKernelFusion = isFused;
  return getKernelCost(target, *findKernelSignature(spec.name), spec,
                       compilation);
}

KernelCost getCost(const Target &target, const KernelSpec &spec,
                   bool isFused = false) {
  llvm::Expected<KernelCost> cost = tryCost(target, spec, isFused);
  if (cost)
    return *cost;
  ADD_FAILURE() << llvm::toString(cost.takeError());
  return {};
}

double seconds(const KernelSpec &spec, bool isFused = false) {
  return getCost(makeTarget(), spec, isFused).seconds;
}

std::string getMessage(const Target &target, const KernelSpec &spec) {
  return llvm::toString(tryCost(target, spec).takeError());
}

KernelSpec matmul(const TensorShape &a, const TensorShape &b) {
  return {"aclnnMatmul", {a, b}, {{a.type, {a.dims[0], b.dims[1]}}}, {}};
}

KernelSpec attention(int64_t keys, int64_t size, bool causal = true,
                     int64_t heads = 32) {
  const TensorShape q = narrow({1, heads, keys, size});
  const TensorShape rows = wide({1, heads, keys});
  return {"aclnnFlashAttentionScore",
          {q, q, q},
          {rows, rows, q},
          {{"scale", 1.0}, {"causal", causal}}};
}

KernelSpec norm(int64_t rows, int64_t columns) {
  return {"aclnnRmsNorm",
          {narrow({rows, columns}), narrow({columns})},
          {narrow({rows, columns}), wide({rows})},
          {{"epsilon", 1e-5}}};
}

/// Llama2-7B's product of the gate: 2 * 4096 * 4096 * 11008 FLOPs.
TEST(KernelCostTest, MatmulRunsAtItsShareOfThePeak) {
  const KernelSpec spec = matmul(narrow({4096, 4096}), narrow({4096, 11008}));
  const KernelCost cost = getCost(makeTarget(), spec);
  EXPECT_NEAR(cost.seconds, 369.367e9 / 250.665e12 + 4e-6, 1e-9);
  EXPECT_NEAR(cost.seconds * 1e3, 1.47755, 1e-4);
  EXPECT_EQ(cost.limit, Limit::Compute);
  // One row streams the weight: 90 MB, without a gain of the cache.
  const KernelCost row =
      getCost(makeTarget(), matmul(narrow({1, 4096}), narrow({4096, 11008})));
  EXPECT_NEAR(row.seconds, 2 * (4096 * 11008 + 4096 + 11008) / 1.1e12 + 4e-6,
              1e-12);
  EXPECT_EQ(row.limit, Limit::Memory);
  // In fp32 as the operands; the type of the sum does not matter.
  EXPECT_NEAR(seconds(matmul(wide({4096, 4096}), wide({4096, 11008}))),
              369.367e9 / (0.85 * 75e12) + 4e-6, 1e-8);
  KernelSpec mixed = spec;
  mixed.outputs[0].type = DType::F32;
  EXPECT_EQ(seconds(mixed), seconds(spec));
}

/// Forward 2 b n s s d FLOPs at P f s / (s + 500).
TEST(KernelCostTest, AttentionReachesMoreOfThePeakWithMoreKeys) {
  // 2 * 32 * 4096^2 * 128 = 137.4 GFLOP at 107.8 TFLOPS.
  EXPECT_NEAR(seconds(attention(4096, 128)) * 1e3, 1.2795, 1e-4);
  // 64 times as many at 119.1 TFLOPS.
  EXPECT_NEAR(seconds(attention(32768, 128)) * 1e3, 73.8638, 1e-3);
  EXPECT_NEAR((seconds(attention(4096, 128, false)) - 4e-6) /
                  (seconds(attention(4096, 128)) - 4e-6),
              2, 1e-9);
  // Half the head has half the FLOPs, at 0.5^0.7 of the rate; a larger one has
  // the rate of 128.
  EXPECT_NEAR((seconds(attention(4096, 64)) - 4e-6) /
                  (seconds(attention(4096, 128)) - 4e-6),
              0.5 / std::pow(0.5, 0.7), 1e-9);
  EXPECT_NEAR((seconds(attention(4096, 256)) - 4e-6) /
                  (seconds(attention(4096, 128)) - 4e-6),
              2, 1e-9);
}

/// 2.5 times the FLOPs at 0.85 of the rate.
TEST(KernelCostTest, AttentionsGradientTakesThreeTimesAsLong) {
  KernelSpec grad = attention(4096, 128);
  const TensorShape q = grad.inputs[0], rows = grad.outputs[0];
  grad.name = "aclnnFlashAttentionScoreGrad";
  grad.inputs.append({q, rows, rows, q});
  grad.outputs = {q, q, q};
  EXPECT_NEAR((seconds(grad) - 4e-6) / (seconds(attention(4096, 128)) - 4e-6),
              2.5 / 0.85, 1e-9);
}

/// bytes / B', B' = B (1 + g / (1 + (A / 64 MB)^2)).
TEST(KernelCostTest, NormsAreFasterInTheCache) {
  // A = 32 MiB: the rate is 1.1 (1 + 0.8 / 1.25) TB/s; x in, y out, 5 passes.
  const double bytes = 2 * 32 * mib + 4096 * 2 + 4096 * 4;
  const KernelCost cost = getCost(makeTarget(), norm(4096, 4096));
  EXPECT_NEAR(cost.seconds, 5 * bytes / 1.804e12 + 4e-6, 1e-12);
  EXPECT_NEAR(cost.seconds * 1e6, 190.07, 0.01);
  EXPECT_EQ(cost.limit, Limit::Memory);
  // A = 512 MiB: 1.1135 TB/s.
  EXPECT_NEAR(seconds(norm(65536, 4096)),
              5 * (2 * 512 * mib + 4096 * 2 + 65536 * 4) /
                      (1.1e12 * (1 + 0.8 / 65)) +
                  4e-6,
              1e-9);
  // Little work is all latency.
  EXPECT_EQ(getCost(makeTarget(), norm(4, 16)).limit, Limit::Latency);
}

TEST(KernelCostTest, FusionSavesPasses) {
  EXPECT_NEAR((seconds(norm(4096, 4096), true) - 4e-6) /
                  (seconds(norm(4096, 4096)) - 4e-6),
              0.75, 1e-9);
  // Kinds without fused passes are as they are.
  const KernelSpec zero = {"aclnnInplaceZero", {}, {wide({1 << 20})}, {}};
  EXPECT_EQ(seconds(zero, true), seconds(zero));
  EXPECT_NEAR(seconds(zero),
              4 * mib / (1.1e12 * (1 + 0.8 / (1 + 1.0 / 256))) + 4e-6, 1e-12);
}

TEST(KernelCostTest, FactorsTakeAsLongAsProducts) {
  const TensorShape x = wide({4096, 4096}), scalar = wide({});
  const KernelSpec product = {"aclnnForeachMulScalar", {scalar}, {x}, {}};
  auto update = [&](llvm::SmallVector<TensorShape, 4> inputs) {
    return seconds({"aclnnApplyAdamWV2",
                    std::move(inputs),
                    {x, x, x},
                    {{"beta1", 0.9},
                     {"beta2", 0.95},
                     {"eps", 1e-8},
                     {"weight_decay", 0.1}}});
  };
  const double plain = update({x, scalar, scalar, scalar});
  // Beside the scalars, which the update reads too.
  EXPECT_NEAR(update({x, scalar, scalar, scalar, scalar, scalar}),
              plain + 2 * seconds(product), 1e-9);
  // The product for the norm is computed once.
  EXPECT_NEAR(seconds({"aclnnForeachNorm", {x, scalar}, {scalar}, {}}),
              seconds({"aclnnForeachNorm", {x}, {scalar}, {}}), 1e-9);
}

TEST(KernelCostTest, OperationsCountWhereAKindHasAShareOfThePeak) {
  Target target = makeTarget();
  target.kernels[3].peakShare = 1e-4;
  const KernelCost cost = getCost(target, norm(4096, 4096));
  EXPECT_EQ(cost.limit, Limit::Compute);
  // The vector engine has no rate for bf16: that of f32.
  EXPECT_NEAR(cost.seconds, 4096 * 4096 / 8e8 + 4e-6, 1e-9);
}

/// Half of the rows that there is room for: half the FLOPs, and the share of
/// the peak that half the rows of an expert reach.
TEST(KernelCostTest, ExpertsCountTheRowsThatThereAre) {
  Target target = makeTarget();
  target.kernels.push_back(
      {"grouped_matmul", 0.36, 1, 0, 4e-6, {{"rows", 210, 0, 1}}});
  auto grouped = [](int64_t rows) {
    return KernelSpec{"aclnnGroupedMatmul",
                      {narrow({1, 1, rows, 7168}), narrow({1, 32, 7168, 4096}),
                       wide({1, 1, 32})},
                      {narrow({1, 1, rows, 4096})},
                      {}};
  };
  auto cost = [&](const KernelSpec &spec, double filledRows) {
    Compilation compilation;
    compilation.filledRows = filledRows;
    llvm::Expected<KernelCost> result = getKernelCost(
        target, *findKernelSignature(spec.name), spec, compilation);
    EXPECT_TRUE(static_cast<bool>(result));
    return result->seconds;
  };
  // 481 GFLOP for 256 rows of each expert, at 0.36 * 256 / 466 of the peak.
  EXPECT_NEAR(cost(grouped(8192), 1),
              2.0 * 8192 * 7168 * 4096 / (294.9e12 * 0.36 * 256 / 466) + 4e-6,
              1e-9);
  EXPECT_NEAR(cost(grouped(16384), 0.5), cost(grouped(8192), 1), 1e-12);
  // Products without counts have all their rows.
  const KernelSpec product = matmul(narrow({512, 512}), narrow({512, 512}));
  EXPECT_EQ(cost(product, 0.5), cost(product, 1));
}

TEST(KernelCostTest, ErrorsNameKernelKindAndTarget) {
  Target target = makeTarget();
  EXPECT_EQ(getMessage(target, {"aclnnCast", {wide({4})}, {narrow({4})}, {}}),
            "target 'a2' has no rate for kind 'cast', which kernel 'aclnnCast' "
            "is of; add one to its kernels");
  target.kernels[3].saturations = {{"keys", 10, 0, 1}};
  target.kernels[3].peakShare = 0.5;
  EXPECT_EQ(getMessage(target, norm(4, 16)),
            "target 'a2' has the rate of kind 'norm' depend on 'keys', which "
            "kernel 'aclnnRmsNorm' of kind 'norm' does not have; it has flops, "
            "full_flops, bytes, largest_operand_bytes, element_bytes, rows, "
            "columns");
  target.engines[0].peaks = {{DType::F16, 1e12}};
  EXPECT_EQ(getMessage(target, matmul(narrow({4, 4}), narrow({4, 4}))),
            "target 'a2' has no rate of its cube engine for bf16, nor for f32, "
            "which kernel 'aclnnMatmul' of kind 'matmul' needs");
}

TEST(KernelCostTest, EmptyOperandsTakeTheLatency) {
  for (const KernelSpec &spec :
       {attention(0, 128), matmul(narrow({0, 8}), narrow({8, 8})), norm(0, 4)})
    EXPECT_NEAR(seconds(spec), 4e-6, 1e-9) << spec.name;
}

/// Whether steps run as one on the device is what it was compiled with.
TEST(KernelCostTest, AChainTakesTheSumOfItsSteps) {
  const TensorShape x = wide({4, 512, 768});
  const AttributeMap slice = {{"starts", std::vector<int64_t>{0, 0, 0}},
                              {"sizes", std::vector<int64_t>{4, 512, 384}}};
  const TensorShape half = wide({4, 512, 384});
  const KernelSpec chain = {
      "mfChain",
      {x, x},
      {half},
      {{"steps",
        std::vector<FusedKernel>{{"aclnnMul", {0, 1}, x, {}},
                                 {"aclnnSliceV2", {~0}, half, slice}}}}};
  for (bool isFused : {false, true}) {
    const double mul =
        getCost(makeTarget(), {"aclnnMul", {x, x}, {x}, {}}, isFused).seconds;
    const double copy =
        getCost(makeTarget(), {"aclnnSliceV2", {x}, {half}, slice}, isFused)
            .seconds;
    const KernelCost cost = getCost(makeTarget(), chain, isFused);
    EXPECT_DOUBLE_EQ(cost.seconds, mul + copy);
    EXPECT_EQ(cost.limit, Limit::Memory);
  }
}

/// Muon's iterations are one launch, which takes as long as products and vector
/// operators that are launched one by one, and longer for each iteration.
TEST(KernelCostTest, IterationsTakeTheSumOfTheirKernels) {
  Target target = makeTarget();
  target.kernels.push_back({"cast", 0, 2, 0, 3e-6, {}});
  auto getCostOf = [&](const KernelSpec &spec) {
    return getCost(target, spec).seconds;
  };
  const TensorShape x = narrow({2, 512, 768}), squares = wide({2, 512, 768});
  const TensorShape inner = narrow({2, 512, 512}), sums = wide({2}),
                    norms = narrow({2});
  const double normalization =
      getCostOf({"aclnnCast", {x}, {squares}, {}}) +
      getCostOf({"aclnnMul", {squares, squares}, {squares}, {}}) +
      getCostOf({"aclnnReduceSum",
                 {squares},
                 {sums},
                 {{"axes", std::vector<int64_t>{1, 2}}}}) +
      getCostOf({"aclnnSqrt", {sums}, {sums}, {}}) +
      getCostOf({"aclnnCast", {sums}, {norms}, {}}) +
      getCostOf({"aclnnAdds", {norms}, {norms}, {{"value", 0.1}}}) +
      getCostOf({"aclnnDiv", {x, narrow({2, 1, 1})}, {x}, {}});
  auto getScaled = [&](const TensorShape &of) {
    return getCostOf({"aclnnMuls", {of}, {of}, {{"value", 2.0}}});
  };
  auto getAdded = [&](const TensorShape &of) {
    return getCostOf({"aclnnAdd", {of, of}, {of}, {}});
  };
  const double iteration =
      getCostOf({"aclnnMatmul", {x, x}, {inner}, {{"transpose_b", true}}}) +
      getCostOf({"aclnnMatmul", {inner, inner}, {inner}, {}}) +
      getCostOf({"aclnnMatmul", {inner, x}, {x}, {}}) + 2 * getScaled(inner) +
      getAdded(inner) + getScaled(x) + getAdded(x);
  for (int64_t iterations : {1, 5}) {
    const KernelSpec spec = {
        "mfNewtonSchulz",
        {x},
        {x},
        {{"coefficients", std::vector<double>(3 * iterations, 2.0)},
         {"eps", 0.1}}};
    EXPECT_NEAR(getCostOf(spec),
                normalization + static_cast<double>(iterations) * iteration,
                1e-12);
  }
}

} // namespace
