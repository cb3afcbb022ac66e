//===- TargetTest.cpp - Numbers of targets by their paths -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleTarget.h"
#include "mf/Perf/Target/TargetFields.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mf;
using namespace mf::target;

namespace {

std::string set(Target &target, llvm::StringRef path, double value) {
  return llvm::toString(setParameter(target, path, value));
}

TEST(TargetTest, RatesAndPeaksAreFound) {
  const Target target = getSampleTarget();
  ASSERT_NE(target.findKernelRate("attention"), nullptr);
  EXPECT_EQ(target.findKernelRate("attention")->peakShare, 0.4);
  EXPECT_EQ(target.findKernelRate("loss"), nullptr);
  EXPECT_EQ(target.getPeak(Engine::Cube, DType::BF16), 300e12);
  // Not there: as f32.
  EXPECT_EQ(target.getPeak(Engine::Cube, DType::F16), 75e12);
  EXPECT_EQ(target.getPeak(Engine::Vector, DType::BF16), 10e12);
  EXPECT_EQ(target.getPeak(Engine::Copy, DType::BF16), 0);
  Target onlyHalf = target;
  onlyHalf.engines[0].peaks.pop_back();
  EXPECT_EQ(onlyHalf.getPeak(Engine::Cube, DType::F32), 0);
}

TEST(TargetTest, ParametersAreAllNumbersInOrder) {
  Target target = getSampleTarget();
  std::vector<Parameter> parameters = getParameters(target);
  std::vector<std::string> paths;
  for (const Parameter &parameter : parameters)
    paths.push_back(parameter.path);
  EXPECT_EQ(paths.front(), "engines.cube.bf16");
  EXPECT_EQ(paths.back(), "step_latency");
  for (const char *path :
       {"memory.cache_gain", "host.latency", "kernels.norm.fused_passes",
        "kernels.attention.head_size.power", "networks.hccs.hidden"})
    EXPECT_EQ(std::count(paths.begin(), paths.end(), path), 1) << path;
  EXPECT_EQ(std::count(paths.begin(), paths.end(), "memory.bytes"), 0)
      << "no rate to fit";
  // They are the target's own.
  for (Parameter &parameter : parameters)
    *parameter.value += 1;
  EXPECT_EQ(target.stepLatency, 1.02);
  EXPECT_EQ(target.kernels[1].saturations[0].half, 501);
}

TEST(TargetTest, NumbersAreSetByPath) {
  Target target = getSampleTarget();
  EXPECT_EQ(set(target, "networks.roce.collective_share", 0.25), "");
  EXPECT_EQ(target.networks[1].collectiveShare, 0.25);
  EXPECT_EQ(set(target, "kernels.attention.head_size.power", 0.5), "");
  EXPECT_EQ(target.kernels[1].saturations[1].power, 0.5);
  EXPECT_EQ(set(target, "memory.bytes", 32e9), "");
  EXPECT_EQ(target.memory.bytes, 32000000000);
  EXPECT_EQ(set(target, "networks.hccs.size", 16), "");
  EXPECT_EQ(target.networks[0].size, 16);
}

// test/run/targets.test has wrong paths.
TEST(TargetTest, WrongNumbersAreErrors) {
  Target target = getSampleTarget();
  EXPECT_EQ(set(target, "memory.bytes_per_second", 1e-300),
            "memory.bytes_per_second: expected at least 1.0e-09, but got "
            "1.0e-300");
  EXPECT_EQ(set(target, "memory.bytes_per_second", 1e300),
            "memory.bytes_per_second: expected at most 1.0e+18, but got "
            "1.0e+300");
  EXPECT_EQ(set(target, "step_latency", 1e10),
            "step_latency: expected at most 3600, but got 1.0e+10");
  EXPECT_EQ(set(target, "kernels.matmul.peak_share", 85),
            "kernels.matmul.peak_share: expected a share from 0 to 1, but got "
            "85");
  EXPECT_EQ(set(target, "networks.hccs.size", 2.5),
            "networks.hccs.size: expected an integer of at most 2^53, but got "
            "2.5");
  EXPECT_EQ(set(target, "memory.bytes", 1e300),
            "memory.bytes: expected an integer of at most 2^53, but got "
            "1.0e+300");
  // And nothing has changed.
  EXPECT_EQ(target.memory.bytes, int64_t{64} << 30);
  EXPECT_EQ(target.kernels[0].peakShare, 0.8);
}

TEST(TargetTest, NumbersAreWrittenShortAndExactly) {
  EXPECT_EQ(formatTargetNumber(500), "500");
  EXPECT_EQ(formatTargetNumber(0.1), "0.1");
  EXPECT_EQ(formatTargetNumber(4e-6), "4.0e-06");
  EXPECT_EQ(formatTargetNumber(1.1e12), "1.1e+12");
  EXPECT_EQ(formatTargetNumber(1e300), "1.0e+300");
  for (double number : {1.0 / 3, 294.9e12, 5e-324, 1.7976931348623157e308})
    EXPECT_EQ(std::strtod(formatTargetNumber(number).c_str(), nullptr), number);
}

} // namespace
