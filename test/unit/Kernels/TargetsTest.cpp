//===- TargetsTest.cpp - The same results on every instruction set --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The loops are compiled for AVX-512 and AVX2, or for NEON. Here the better one
// is hidden, so that each is tested on any machine that has it.
//
//===----------------------------------------------------------------------===//

#include "KernelTesting.h"
#include "lib/Exec/Kernels/LoopDispatch.h"
#include "lib/Exec/Kernels/MatrixUnit.h"
#include "mf/Exec/Kernels/InstructionSet.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace mf;
using namespace mf::testing;

namespace {

class TargetsTest : public ::testing::TestWithParam<LoopSet> {
protected:
  void SetUp() override {
    if (getLoopSet() < GetParam())
      GTEST_SKIP() << "this processor has no " << getName(GetParam());
    limit.emplace(GetParam());
    EXPECT_EQ(getLoopSet(), GetParam());
  }

  static std::string getName(LoopSet set) {
    return set == LoopSet::Avx512 ? "AVX512" : "EightLanes";
  }

private:
  std::optional<LoopSetLimit> limit;
};

TEST_P(TargetsTest, ConversionsRoundToNearestEven) {
  KernelTensor x(DType::F32, {65536});
  for (uint32_t i = 0; i < 65536; ++i) {
    uint32_t bits = i << 16 | (i * 40503u & 0xffffu);
    std::memcpy(static_cast<char *>(x.data()) + i * 4ul, &bits, 4);
  }
  for (DType type : {DType::BF16, DType::F16}) {
    KernelTensor narrow = runOne("aclnnCast", {x}, KernelTensor(type, {65536}));
    KernelTensor wide =
        runOne("aclnnCast", {narrow}, KernelTensor(DType::F32, {65536}));
    KernelTensor expected(type, {65536});
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

/// Nearest even, NaN quiet with its upper bits kept.
uint16_t roundToBFloat16(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Every upper half with many lower ones, once in order and once in disorder,
/// where most vectors have a NaN and numbers beside it.
TEST_P(TargetsTest, BFloat16IsRoundedBitForBit) {
  constexpr int64_t count = 65536;
  const KernelSpec spec{
      "aclnnCast", {{DType::F32, {count}}}, {{DType::BF16, {count}}}, {}};
  const std::unique_ptr<Kernel> kernel = llvm::cantFail(makeKernel(spec));
  ThreadPool pool(1);
  std::vector<uint32_t> x(count);
  std::vector<uint16_t> y(count);
  void *inputs[] = {x.data()}, *outputs[] = {y.data()};
  for (const uint32_t step : {1U, 40503U})
    for (uint32_t lower = 0; lower <= 0xffff; lower += lower < 4 ? 1 : 4093) {
      for (const uint32_t offset : {0U, 0x8000U, 0xffffU}) {
        for (uint32_t i = 0; i < count; ++i)
          x[i] = i * step << 16 | ((lower + offset) & 0xffff);
        kernel->run({inputs, outputs}, pool);
        for (uint32_t i = 0; i < count; ++i)
          ASSERT_EQ(y[i], roundToBFloat16(x[i])) << std::hex << x[i];
      }
    }
}

/// In units of the last place, where results are normal numbers.
TEST_P(TargetsTest, ExponentialsAreAUnitOrTwoFromTheExactOnes) {
  constexpr int64_t count = 1 << 20;
  KernelTensor x(DType::F32, {count});
  for (int64_t i = 0; i < count; ++i)
    x.set(i, -87.3 + 176.0 / count * static_cast<double>(i));
  const KernelTensor y = runOne("aclnnExp", {x}, x);
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double exact = std::exp(x.get(i));
    const double unit = std::ldexp(1, std::ilogb(exact) - 23);
    if (exact < 0x1.fffffep127)
      worst = std::max(worst, std::abs(y.get(i) - exact) / unit);
    else
      ASSERT_EQ(y.get(i), INFINITY) << x.get(i);
  }
  EXPECT_LT(worst, GetParam() == LoopSet::Avx512 ? 1.1 : 2);
}

TEST_P(TargetsTest, ActivationsTakeAnyNumber) {
  const double values[] = {INFINITY, NAN, 1e30, -1e30, 90, -90, 0, 1e-42, -60};
  KernelTensor x(DType::F32, {9});
  for (int i = 0; i < 9; ++i)
    x.set(i, values[i]);
  const KernelTensor silu = runOne("aclnnSilu", {x}, x);
  const KernelTensor sigmoid = runOne("aclnnSigmoid", {x}, x);
  for (int i = 0; i < 9; ++i) {
    const double exact = 1 / (1 + std::exp(-x.get(i)));
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(silu.get(i)) && std::isnan(sigmoid.get(i)));
      continue;
    }
    EXPECT_NEAR(sigmoid.get(i), exact, 1e-6 * exact + 1e-37);
    const double product = x.get(i) * exact;
    if (std::isinf(product))
      EXPECT_EQ(silu.get(i), product);
    else
      EXPECT_NEAR(silu.get(i), product, 1e-6 * std::abs(product) + 1e-35);
  }
}

TEST_P(TargetsTest, SoftmaxAndActivationsAgreeWithDouble) {
  for (DType type : floatTypes) {
    KernelTensor x = randomTensor(type, {9, 101}, 1, -8, 8);
    Values silu, probabilities;
    for (double value : x.toVector())
      silu.push_back(value / (1 + std::exp(-value)));
    expectNear(runOne("aclnnSilu", {x}, x), silu);
    for (int64_t row = 0; row < 9; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < 101; ++i)
        sum += std::exp(x.get(row * 101 + i));
      for (int64_t i = 0; i < 101; ++i)
        probabilities.push_back(std::exp(x.get(row * 101 + i)) / sum);
    }
    expectNear(runOne("aclnnSoftmax", {x}, x), probabilities, 0.1);
  }
}

TEST_P(TargetsTest, SumsAndUpdatesAgreeWithDouble) {
  for (DType type : floatTypes) {
    KernelTensor x = randomTensor(type, {37, 45}, 1);
    Values sums(45), doubled;
    for (int64_t i = 0; i < x.size(); ++i) {
      sums[i % 45] += x.get(i);
      doubled.push_back(2 * x.get(i));
    }
    expectNear(runOne("aclnnReduceSum", {x}, KernelTensor(type, {45}),
                      {{"axes", Ints{0}}}),
               sums, 6);
    expectNear(runOne("aclnnInplaceAdd", {x}, x), doubled);
  }
}

TEST_P(TargetsTest, ScoresAndChoicesAgreeWithDouble) {
  for (DType type : floatTypes) {
    KernelTensor x = randomTensor(type, {9, 101}, 1, 0.1, 9);
    Values logarithms, exponentials, remainders, quotients;
    for (double value : x.toVector()) {
      logarithms.push_back(std::log(value));
      exponentials.push_back(std::exp(value));
      remainders.push_back(std::fmod(value, 0.75));
      quotients.push_back(std::floor(value / 0.75));
    }
    const AttributeMap divisor = {{"value", 0.75}};
    expectNear(runOne("aclnnLog", {x}, x), logarithms, 1e-3);
    expectNear(runOne("aclnnExp", {x}, x), exponentials, 1e-3);
    EXPECT_EQ(runOne("aclnnRemainderTensorScalar", {x}, x, divisor).toVector(),
              remainders);
    EXPECT_EQ(runOne("aclnnFloorDivides", {x}, x, divisor).toVector(),
              quotients);
    Tensors best = runKernel(
        "aclnnTopk", {x},
        {KernelTensor(type, {9, 3}), KernelTensor(DType::I32, {9, 3})},
        {{"k", int64_t{3}}});
    for (int64_t row = 0; row < 9; ++row) {
      Values sorted;
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

/// The test covers infinities, NaN and zero, too.
TEST_P(TargetsTest, LogarithmsAndExponentialsTakeAnyNumber) {
  KernelTensor x(DType::F32, {7});
  const double values[] = {INFINITY, -INFINITY, NAN, 0, -1, 200, 1e-42};
  for (int i = 0; i < 7; ++i)
    x.set(i, values[i]);
  Values logarithms, exponentials;
  for (double value : x.toVector()) {
    logarithms.push_back(std::log(value));
    exponentials.push_back(value > 100 ? INFINITY : std::exp(value));
  }
  expectNear(runOne("aclnnLog", {x}, x), logarithms, 1e-3);
  expectNear(runOne("aclnnExp", {x}, x), exponentials, 1e-3);
}

#if defined(__x86_64__)

/// In a process of its own, whose first kernel it is. Without the refusal, that
/// would end by an instruction that the processor does not know.
TEST(InstructionSetTest, ProcessorsWithoutAvx2AreRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto makeOnOldProcessor = [] {
    const LoopSetLimit limit(LoopSet::None);
    const TensorShape shape = {DType::F32, {4}};
    llvm::Expected<std::unique_ptr<Kernel>> kernel =
        makeKernel({"aclnnNeg", {shape}, {shape}, {}});
    llvm::errs() << llvm::toString(kernel.takeError());
    std::exit(0);
  };
  EXPECT_EXIT(makeOnOldProcessor(), ::testing::ExitedWithCode(0),
              "^this processor has no AVX2 .with FMA, F16C and BMI2., which "
              "all kernels need: run on ");
}

/// The instructions that a step uses in a process that starts with each limit
/// of oneDNN's.
TEST(InstructionSetTest, OneDnnsLimitIsThatOfLoopsAndProducts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Limit {
    const char *name, *says;
    MatrixUnit needed;
  };
  constexpr const char *variable = "ONEDNN_MAX_CPU_ISA";
  const Limit limits[] = {{"AVX2", "AVX2", MatrixUnit::None},
                          {"AVX512_CORE_BF16", "AVX-512", MatrixUnit::Avx512},
                          {"ALL", "AVX-512 and AMX", MatrixUnit::Amx}};
  const MatrixUnit best = getMatrixUnit();
  const char *old = std::getenv(variable);
  const std::string restored = old ? old : "ALL";
  for (const Limit &limit : limits) {
    if (limit.needed > best)
      continue;
    auto sayWhatIsUsed = [&limit] {
      llvm::cantFail(prepareInstructionSet());
      const bool loopsUseAvx512 = getLoopSet() == LoopSet::Avx512;
      llvm::errs() << getInstructionSetName();
      std::exit(loopsUseAvx512 == (limit.needed != MatrixUnit::None) ? 0 : 1);
    };
    setenv(variable, limit.name, 1);
    EXPECT_EXIT(sayWhatIsUsed(), ::testing::ExitedWithCode(0),
                std::string("^") + limit.says + "$")
        << limit.name;
  }
  setenv(variable, restored.c_str(), 1);
}

#else

TEST(InstructionSetTest, IsNeon) {
  llvm::cantFail(prepareInstructionSet());
  EXPECT_EQ(getInstructionSetName(), "NEON");
}

#endif

INSTANTIATE_TEST_SUITE_P(
    , TargetsTest, ::testing::Values(LoopSet::EightLanes, LoopSet::Avx512),
    [](const auto &info) {
      return std::string(info.param == LoopSet::Avx512 ? "AVX512"
                                                       : "EightLanes");
    });

} // namespace
