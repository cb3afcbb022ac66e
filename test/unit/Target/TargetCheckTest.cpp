//===- TargetCheckTest.cpp - Checks of a target's numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleTarget.h"
#include "mf/Perf/Target/TargetFields.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mf;
using namespace mf::target;

namespace {

// test/dialects/ascend/device-errors.mlir has what a description in MLIR can
// have wrong; here is the rest.

/// The message of check about the sample after a change.
std::string checkWith(llvm::function_ref<void(Target &)> change) {
  Target target = getSampleTarget();
  change(target);
  return llvm::toString(check(target));
}

TEST(TargetCheckTest, TheSampleIsFine) {
  EXPECT_EQ(checkWith([](Target &) {}), "");
  EXPECT_EQ(checkWith([](Target &t) { t.networks.clear(); }), "");
  EXPECT_EQ(checkWith([](Target &t) { t.kernels.clear(); }), "");
}

TEST(TargetCheckTest, EveryNumberIsHeldAgainstItsRange) {
  Target target = getSampleTarget();
  size_t count = 0;
  forEachField(target, [&](llvm::StringRef path, const Field &field) {
    auto *const *number = std::get_if<double *>(&field.value);
    if (!number)
      return;
    const double before = **number;
    for (double wrong : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                         std::numeric_limits<double>::infinity()}) {
      **number = wrong;
      EXPECT_EQ(llvm::toString(check(target)),
                (path + ": expected " + getDescription(field.range) +
                 ", but got " + formatTargetNumber(wrong))
                    .str());
    }
    **number = before;
    ++count;
  });
  EXPECT_EQ(count, getParameters(target).size());
  EXPECT_EQ(llvm::toString(check(target)), "");
}

TEST(TargetCheckTest, ErrorsSayWhereTheyAre) {
  Target target = getSampleTarget();
  target.networks[1].hidden = 2;
  std::string path;
  llvm::handleAllErrors(check(target), [&](const TargetError &error) {
    path = error.getPath().str();
  });
  EXPECT_EQ(path, "networks.roce.hidden");
}

TEST(TargetCheckTest, SpansOfMemoryHaveTheLeastFirst) {
  EXPECT_EQ(checkWith([](Target &t) {
              t.memory.poolLeastBytes = 3;
              t.memory.poolMostBytes = 2;
            }),
            "memory.pool_least_bytes: expected at most pool_most_bytes, 2");
  EXPECT_EQ(
      checkWith([](Target &t) { t.memory.runtimeLeastBytes = 3; }),
      "memory.runtime_least_bytes: expected at most runtime_most_bytes, 0");
  EXPECT_EQ(checkWith([](Target &t) { t.memory.deviceBytes = 1000; }),
            "memory.device_bytes: expected at least the bytes that programs "
            "can use, 68719476736");
  EXPECT_EQ(checkWith([](Target &t) { t.memory.deviceBytes = t.memory.bytes; }),
            "");
}

TEST(TargetCheckTest, EnginesAreCubeAndVectorOnce) {
  EXPECT_EQ(checkWith([](Target &t) { t.engines[1].engine = Engine::Copy; }),
            "engines.copy: does not compute; expected cube and vector");
  EXPECT_EQ(checkWith([](Target &t) { t.engines.push_back(t.engines[0]); }),
            "engines.cube: is there twice");
  EXPECT_EQ(
      checkWith([](Target &t) { t.engines[0].peaks[1].type = DType::BF16; }),
      "engines.cube.bf16: is there twice");
  EXPECT_EQ(
      checkWith([](Target &t) { t.engines[0].peaks[1].type = DType::I32; }),
      "engines.cube.i32: expected an element type of f32, bf16 and f16");
}

TEST(TargetCheckTest, EntriesAreNamedOnce) {
  EXPECT_EQ(checkWith([](Target &t) { t.name.clear(); }),
            "expected the target's name");
  EXPECT_EQ(checkWith([](Target &t) { t.memory.cacheBytes = 0; }),
            "memory.cache_gain: a gain of data in the cache needs the cache's "
            "size, cache_bytes");
  EXPECT_EQ(checkWith([](Target &t) { t.kernels[2].kind = "matmul"; }),
            "kernels.matmul: is there twice");
  EXPECT_EQ(checkWith([](Target &t) { t.kernels[2].kind = "a b"; }),
            "kernels: expected a name of letters, digits and underscores, but "
            "got 'a b'");
  EXPECT_EQ(checkWith([](Target &t) { t.networks[0].name = "a.b"; }),
            "networks: expected a name of letters, digits and underscores, but "
            "got 'a.b'");
  EXPECT_EQ(checkWith([](Target &t) {
              t.kernels[1].saturations[1].measure = "keys";
            }),
            "kernels.attention.keys: is there twice");
}

TEST(TargetCheckTest, NetworksAreAChain) {
  auto checkOf = [](llvm::StringRef first, llvm::StringRef second) {
    return checkWith([&](Target &t) {
      t.networks[0].of = first.str();
      t.networks[1].of = second.str();
    });
  };
  EXPECT_EQ(checkOf("npu", "hccs"), "");
  EXPECT_EQ(checkOf("npu", ""), "networks.roce: expected what it joins, of = "
                                "npu or of = another network");
  EXPECT_EQ(checkWith([&](Target &t) { t.networks[0].size = -8; }),
            "networks.hccs.size: expected a number of at least 0, but got -8");
  EXPECT_EQ(checkWith([&](Target &t) { t.networks[1].name = "hccs"; }),
            "networks.hccs: is there twice");
}

} // namespace
