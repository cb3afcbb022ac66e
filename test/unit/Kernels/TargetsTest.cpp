//===- TargetsTest.cpp - The same results on every instruction set --------===//
//
// The loops are compiled for AVX-512, AVX2 and plain x86-64. Here the better
// ones are hidden, so that each is tested on any machine that has it.
//
//===----------------------------------------------------------------------===//

#include "hwy/targets.h"
#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mf;
using namespace mf::testing;

namespace {

class TargetsTest : public ::testing::TestWithParam<int64_t> {
protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(0);
    if (GetParam() != HWY_EMU128 && (hwy::SupportedTargets() & GetParam()) == 0)
      GTEST_SKIP() << "this processor has no " << hwy::TargetName(GetParam());
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_P(TargetsTest, ConversionsRoundToNearestEven) {
  Tensor x(DType::F32, {65536});
  for (uint32_t i = 0; i < 65536; ++i) {
    uint32_t bits = i << 16 | (i * 40503u & 0xffffu);
    std::memcpy(static_cast<char *>(x.data()) + i * 4ul, &bits, 4);
  }
  for (DType type : {DType::BF16, DType::F16}) {
    Tensor narrow = runKernel("aclnnCast", {x}, {Tensor(type, {65536})})[0];
    Tensor wide =
        runKernel("aclnnCast", {narrow}, {Tensor(DType::F32, {65536})})[0];
    Tensor expected(type, {65536});
    for (int64_t i = 0; i < 65536; ++i) {
      if (std::isnan(x.get(i))) {
        EXPECT_TRUE(std::isnan(narrow.get(i)));
        EXPECT_TRUE(std::isnan(wide.get(i)));
        continue;
      }
      expected.set(i, x.get(i));
      ASSERT_EQ(narrow.get(i), expected.get(i)) << x.get(i);
      ASSERT_EQ(wide.get(i), expected.get(i)) << x.get(i);
    }
  }
}

TEST_P(TargetsTest, SoftmaxAndActivationsAgreeWithDouble) {
  for (DType type : floatTypes) {
    Tensor x = randomTensor(type, {9, 101}, 1, -8, 8);
    std::vector<double> silu, probabilities;
    for (double value : x.toVector())
      silu.push_back(value / (1 + std::exp(-value)));
    expectNear(runKernel("aclnnSilu", {x}, {x})[0], silu);
    for (int64_t row = 0; row < 9; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < 101; ++i)
        sum += std::exp(x.get(row * 101 + i));
      for (int64_t i = 0; i < 101; ++i)
        probabilities.push_back(std::exp(x.get(row * 101 + i)) / sum);
    }
    expectNear(runKernel("aclnnSoftmax", {x}, {x})[0], probabilities, 0.1);
  }
}

TEST_P(TargetsTest, SumsAndUpdatesAgreeWithDouble) {
  for (DType type : floatTypes) {
    Tensor x = randomTensor(type, {37, 45}, 1);
    std::vector<double> sums(45), doubled;
    for (int64_t i = 0; i < x.size(); ++i) {
      sums[i % 45] += x.get(i);
      doubled.push_back(2 * x.get(i));
    }
    expectNear(runKernel("aclnnReduceSum", {x}, {Tensor(type, {45})},
                         {{"axes", std::vector<int64_t>{0}}})[0],
               sums, 6);
    expectNear(runKernel("aclnnInplaceAdd", {x}, {x})[0], doubled);
  }
}

TEST_P(TargetsTest, ScoresAndChoicesAgreeWithDouble) {
  for (DType type : floatTypes) {
    Tensor x = randomTensor(type, {9, 101}, 1, 0.1, 9);
    std::vector<double> logarithms, exponentials, remainders, quotients;
    for (double value : x.toVector()) {
      logarithms.push_back(std::log(value));
      exponentials.push_back(std::exp(value));
      remainders.push_back(std::fmod(value, 0.75));
      quotients.push_back(std::floor(value / 0.75));
    }
    const AttributeMap divisor = {{"value", 0.75}};
    expectNear(runKernel("aclnnLog", {x}, {x})[0], logarithms, 1e-3);
    expectNear(runKernel("aclnnExp", {x}, {x})[0], exponentials, 1e-3);
    EXPECT_EQ(runKernel("aclnnRemainderTensorScalar", {x}, {x}, divisor)[0]
                  .toVector(),
              remainders);
    EXPECT_EQ(runKernel("aclnnFloorDivides", {x}, {x}, divisor)[0].toVector(),
              quotients);
    std::vector<Tensor> best = runKernel(
        "aclnnTopk", {x}, {Tensor(type, {9, 3}), Tensor(DType::I32, {9, 3})},
        {{"k", int64_t{3}}});
    for (int64_t row = 0; row < 9; ++row) {
      std::vector<double> sorted;
      for (int64_t i = 0; i < 101; ++i)
        sorted.push_back(x.get(row * 101 + i));
      std::sort(sorted.rbegin(), sorted.rend());
      for (int64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(best[0].get(row * 3 + i), sorted[i]);
        const auto index = static_cast<int64_t>(best[1].get(row * 3 + i));
        EXPECT_EQ(x.get(row * 101 + index), sorted[i]);
      }
    }
  }
}

/// Of infinities, NaN and zero, too.
TEST_P(TargetsTest, LogarithmsAndExponentialsTakeAnyNumber) {
  Tensor x(DType::F32, {7});
  const double values[] = {INFINITY, -INFINITY, NAN, 0, -1, 200, 1e-42};
  for (int i = 0; i < 7; ++i)
    x.set(i, values[i]);
  std::vector<double> logarithms, exponentials;
  for (double value : x.toVector()) {
    logarithms.push_back(std::log(value));
    exponentials.push_back(value > 100 ? INFINITY : std::exp(value));
  }
  expectNear(runKernel("aclnnLog", {x}, {x})[0], logarithms, 1e-3);
  expectNear(runKernel("aclnnExp", {x}, {x})[0], exponentials, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(, TargetsTest,
                         ::testing::Values(HWY_EMU128, HWY_AVX2, HWY_AVX3),
                         [](const auto &info) {
                           return std::string(hwy::TargetName(info.param));
                         });

} // namespace
