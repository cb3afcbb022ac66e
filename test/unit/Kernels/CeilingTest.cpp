//===- CeilingTest.cpp - oneDNN's rate on every processor -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each limit of oneDNN's is asked for in a process that starts with it.
//
//===----------------------------------------------------------------------===//

#include "benchmarks/kernels/Ceiling.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mf;

namespace {

/// Leaves the process with 0 if the ceiling is a rate, and prints what its type
/// is described as.
[[noreturn]] void measureAndLeave(DType type) {
  StepProduct product;
  product.m = product.n = product.k = 64;
  Settings settings;
  settings.threads = 1;
  settings.seconds = 0;
  const double rate = measureCeiling(product, type, settings);
  llvm::errs() << "ceiling" << describeCeilingType(type);
  std::exit(rate > 0 ? 0 : 1);
}

class CeilingTest : public ::testing::Test {
protected:
  static constexpr const char *variable = "ONEDNN_MAX_CPU_ISA";

  CeilingTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (const char *old = std::getenv(variable))
      before = old;
    setenv(variable, "AVX2", 1);
  }
  ~CeilingTest() override { setenv(variable, before.c_str(), 1); }

private:
  std::string before = "ALL";
};

TEST_F(CeilingTest, WithoutBFloat16ProductsItIsThatOfFloat) {
  EXPECT_EXIT(measureAndLeave(DType::BF16), ::testing::ExitedWithCode(0),
              "^ceiling in f32, as oneDNN has no product of bf16 on this "
              "processor$");
}

TEST_F(CeilingTest, FloatIsItsOwn) {
  EXPECT_EXIT(measureAndLeave(DType::F32), ::testing::ExitedWithCode(0),
              "^ceiling$");
}

} // namespace
