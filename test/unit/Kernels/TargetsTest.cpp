//===- TargetsTest.cpp - The same results on every instruction set --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The loops are compiled for AVX-512 and AVX2, or for NEON. Here the better one
// is hidden, so that each is tested on any machine that has it.
//
//===----------------------------------------------------------------------===//

#include "ExampleSpecs.h"
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
  // Every upper half of an f32, with lower halves around the ties.
  constexpr uint32_t lower[] = {0x0000, 0x0001, 0x1000, 0x1001,
                                0x7fff, 0x8000, 0x8001, 0xffff};
  KernelTensor x(DType::F32, {65536});
  for (uint32_t i = 0; i < 65536; ++i) {
    uint32_t bits = i << 16 | lower[i / 8 % 8];
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

TEST_P(TargetsTest, FunctionsTakeAnyNumber) {
  const std::pair<const char *, double (*)(double)> functions[] = {
      {"aclnnLog", [](double v) { return std::log(v); }},
      {"aclnnExp", [](double v) { return std::exp(v); }},
      {"aclnnSigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"aclnnSilu", [](double v) { return v / (1 + std::exp(-v)); }}};
  const KernelTensor x =
      makeRow(DType::F32, {INFINITY, -INFINITY, NAN, 0, -0.0, -1, 1, 1e30,
                           -1e30, 200, -200, 90, -90, -60, 1e-42});
  for (const auto &[kernel, function] : functions) {
    SCOPED_TRACE(kernel);
    const KernelTensor y = runOne(kernel, {x}, x);
    for (int64_t i = 0; i < x.size(); ++i) {
      const double expected = static_cast<float>(function(x.get(i)));
      // SiLU of -infinity is infinity times 0.
      if (std::isinf(x.get(i)) && std::isnan(expected))
        continue;
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(y.get(i))) << x.get(i);
      else if (std::isinf(expected))
        EXPECT_EQ(y.get(i), expected) << x.get(i);
      else
        EXPECT_NEAR(y.get(i), expected, 4e-6 * std::abs(expected) + 1e-35)
            << x.get(i);
    }
  }
}

/// The other tests run on the best instruction set that there is.
TEST(LoopSetTest, ExamplesAgree) {
  if (getLoopSet() < LoopSet::Avx512)
    GTEST_SKIP() << "this processor has no AVX512";
  for (const KernelSpec &spec : getExampleSpecs()) {
    SCOPED_TRACE(spec.name);
    auto runOn = [&](LoopSet set) {
      const LoopSetLimit limit(set);
      return runExample(spec);
    };
    const Tensors own = runOn(LoopSet::EightLanes),
                  best = runOn(LoopSet::Avx512);
    for (size_t i = 0; i < own.size(); ++i)
      expectNear(own[i], best[i].toVector(), 10);
  }
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
  const Limit limits[] = {
      {"AVX2", "AVX2", MatrixUnit::None},
      {"AVX512_CORE", "AVX-512", MatrixUnit::Avx512},
      {"AVX512_CORE_BF16", "AVX-512", MatrixUnit::Avx512},
      {"AVX512_CORE_AMX", "AVX-512 and AMX", MatrixUnit::Amx},
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
      std::exit(getMatrixUnit() == limit.needed &&
                        loopsUseAvx512 == (limit.needed != MatrixUnit::None)
                    ? 0
                    : 1);
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
