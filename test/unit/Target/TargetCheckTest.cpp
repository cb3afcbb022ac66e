//===- TargetCheckTest.cpp - Checks of a target's numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SampleTarget.h"
#include "mf/Perf/Target/TargetFields.h"
#include "gmock/gmock.h"
#include <limits>

using namespace mf;
using namespace mf::target;

namespace {

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
  EXPECT_EQ(checkWith([](Target &t) { t.engines.pop_back(); }),
            "engines: there is no engine 'vector'; expected cube and vector");
  EXPECT_EQ(checkWith([](Target &t) { t.engines.erase(t.engines.begin()); }),
            "engines: there is no engine 'cube'; expected cube and vector");
  EXPECT_EQ(checkWith([](Target &t) { t.engines[1].engine = Engine::Copy; }),
            "engines.copy: does not compute; expected cube and vector");
  EXPECT_EQ(checkWith([](Target &t) { t.engines.push_back(t.engines[0]); }),
            "engines.cube: is there twice");
  EXPECT_EQ(checkWith([](Target &t) { t.engines[1].peaks.clear(); }),
            "engines.vector: expected its FLOPs per second for at least one "
            "element type, as in f32 = 7.5e13");
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

TEST(TargetCheckTest, KindsAndMeasuresAreThoseOfKernels) {
  EXPECT_EQ(checkWith([](Target &t) { t.kernels[0].kind = "matmull"; }),
            "kernels.matmull: no kernel is of this kind; did you mean "
            "'matmul'?");
  EXPECT_THAT(
      checkWith(
          [](Target &t) { t.kernels[0].saturations = {{"keys", 500, 0, 1}}; }),
      testing::StartsWith("kernels.matmul.keys: no measure of these kernels; "
                          "known are "));
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
  EXPECT_EQ(
      checkOf("npu", "roce"),
      "networks.roce: joins itself; expected of = npu or another network");
  EXPECT_EQ(checkOf("npu", "rack"),
            "networks.roce: there is no network 'rack' for it to join; known "
            "are npu, hccs");
  EXPECT_EQ(checkOf("npu", "npu"),
            "networks.roce: expected it to join 'hccs' and not 'npu': networks "
            "are listed from the innermost on, each joins groups of the one "
            "before");
  EXPECT_EQ(checkWith([&](Target &t) {
              t.networks[0].of = "roce";
              t.networks[1].size = 4;
            }),
            "networks.hccs: joins 'roce', which joins 'hccs': networks in a "
            "circle; the innermost must be of = npu");
  EXPECT_EQ(checkWith([&](Target &t) { t.networks[0].size = 0; }),
            "networks.hccs: 'roce' joins groups of it; expected their size");
  EXPECT_EQ(checkWith([&](Target &t) { t.networks[0].size = -8; }),
            "networks.hccs.size: expected a number of at least 0, but got -8");
  EXPECT_EQ(checkWith([&](Target &t) { t.networks[0].name = "npu"; }),
            "networks.npu: 'npu' is what the device is called; expected "
            "another name");
  EXPECT_EQ(checkWith([&](Target &t) { t.networks[1].name = "hccs"; }),
            "networks.hccs: is there twice");
}

} // namespace
