//===- ScoreTest.cpp - Comparisons, quotients, what is not finite ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

KernelTensor makeTensor(DType type, const Values &values) {
  KernelTensor tensor(type, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

TEST(CompareTest, MakesOnesAndZeros) {
  struct Case {
    const char *name;
    bool (*compare)(double, double);
  };
  const Case cases[] = {
      {"aclnnGtScalar", [](double x, double v) { return x > v; }},
      {"aclnnGeScalar", [](double x, double v) { return x >= v; }},
      {"aclnnLtScalar", [](double x, double v) { return x < v; }},
      {"aclnnNeScalar", [](double x, double v) { return x != v; }},
  };
  for (DType type : floatTypes)
    for (double value : {0.0, -1.5, 2.0})
      for (const Case &c : cases) {
        // Half of them equal, in a whole vector and in a tail.
        Values values = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
        for (int i = 0; i < 48; ++i)
          values.push_back(i % 2 ? value : i * 0.25 - 5);
        KernelTensor x = makeTensor(type, values);
        Values expected;
        for (double v : values)
          expected.push_back(c.compare(v, value) ? 1 : 0);
        EXPECT_EQ(runOne(c.name, {x}, x, {{"value", value}}).toVector(),
                  expected)
            << c.name << " " << value;
      }
}

TEST(CompareTest, NaNReachesNothing) {
  KernelTensor x = makeTensor(DType::F32, {NAN, 1, NAN, 1, 2});
  KernelTensor y = makeTensor(DType::F32, {1, NAN, NAN, 1, 3});
  EXPECT_EQ(runOne("aclnnGeTensor", {x, y}, x).toVector(),
            (Values{0, 0, 0, 1, 0}));
}

TEST(ScoreTest, FunctionsOfWhatIsNotFinite) {
  const Values values = {INFINITY, -INFINITY, NAN,  0,   -0.0,
                         -1,       1,         1e30, 200, -200};
  KernelTensor x = makeTensor(DType::F32, values);
  Values logarithms, exponentials, sigmoids;
  for (double v : values) {
    logarithms.push_back(std::log(v));
    exponentials.push_back(v > 100 ? INFINITY : std::exp(v));
    sigmoids.push_back(1 / (1 + std::exp(-v)));
  }
  expectNear(runOne("aclnnLog", {x}, x), logarithms, 1e-30);
  expectNear(runOne("aclnnExp", {x}, x), exponentials, 1e-30);
  expectNear(runOne("aclnnSigmoid", {x}, x), sigmoids, 1e-30);
}

TEST(ScoreTest, LogarithmsOfSmallNumbers) {
  KernelTensor x(DType::F32, {300});
  Values expected;
  for (int64_t i = 0; i < x.size(); ++i) {
    x.set(i, std::ldexp(1.3, static_cast<int>(i) - 148));
    expected.push_back(std::log(x.get(i)));
  }
  expectNear(runOne("aclnnLog", {x}, x), expected, 1e-3);
}

TEST(ScoreTest, DivisionByZeroIsInfinite) {
  KernelTensor x = makeTensor(DType::F32, {1, -1, 0, NAN, 3});
  KernelTensor y = makeTensor(DType::F32, {0, 0, 0, 1, INFINITY});
  KernelTensor z = runOne("aclnnDiv", {x, y}, x);
  EXPECT_EQ(z.get(0), INFINITY);
  EXPECT_EQ(z.get(1), -INFINITY);
  EXPECT_TRUE(std::isnan(z.get(2)));
  EXPECT_TRUE(std::isnan(z.get(3)));
  EXPECT_EQ(z.get(4), 0);
}

/// The results of Python's % and // for numbers in double.
double getRemainder(double x, double divisor) {
  const double rest = std::fmod(x, divisor);
  return rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest;
}

TEST(QuotientTest, IntegersAreExact) {
  for (DType type : floatTypes)
    for (double divisor : {1.0, 7.0, -7.0, 3.0, 64.0, 127.0}) {
      KernelTensor x(type, {1001});
      Values remainders, quotients;
      for (int64_t i = 0; i < x.size(); ++i) {
        // Integers that bf16 has.
        x.set(i, static_cast<double>(i % 513) - 256);
        remainders.push_back(getRemainder(x.get(i), divisor));
        quotients.push_back(std::floor(x.get(i) / divisor));
      }
      const AttributeMap attributes = {{"value", divisor}};
      EXPECT_EQ(
          runOne("aclnnRemainderTensorScalar", {x}, x, attributes).toVector(),
          remainders)
          << divisor;
      EXPECT_EQ(runOne("aclnnFloorDivides", {x}, x, attributes).toVector(),
                quotients)
          << divisor;
    }
}

TEST(QuotientTest, LargeIntegersAndFractionsAreExact) {
  for (double value : {3.0, 4095.0, 0.1, -0.3, 1e-20, 3e30}) {
    const double divisor = static_cast<float>(value);
    KernelTensor x(DType::F32, {4000});
    std::mt19937 random(5);
    std::uniform_real_distribution<double> exponent(-40, 40);
    Values remainders, quotients;
    for (int64_t i = 0; i < x.size(); ++i) {
      // Multiples of the divisor and their neighbours, then all sizes.
      if (i < 3000)
        x.set(i, std::nextafter(static_cast<float>(i - 1500) *
                                    static_cast<float>(divisor),
                                static_cast<float>(i % 3 - 1) * 1e38F));
      else
        x.set(i, std::copysign(std::exp2(exponent(random)), i % 2 - 0.5));
      remainders.push_back(static_cast<float>(getRemainder(x.get(i), divisor)));
      quotients.push_back(static_cast<float>(std::floor(x.get(i) / divisor)));
    }
    const AttributeMap attributes = {{"value", value}};
    EXPECT_EQ(
        runOne("aclnnRemainderTensorScalar", {x}, x, attributes).toVector(),
        remainders)
        << value;
    EXPECT_EQ(runOne("aclnnFloorDivides", {x}, x, attributes).toVector(),
              quotients)
        << value;
  }
}

TEST(QuotientTest, WhatIsNotFiniteHasNoRemainder) {
  KernelTensor x = makeTensor(DType::F32, {INFINITY, -INFINITY, NAN, 5});
  const AttributeMap attributes = {{"value", 3.0}};
  KernelTensor rest = runOne("aclnnRemainderTensorScalar", {x}, x, attributes);
  KernelTensor quotient = runOne("aclnnFloorDivides", {x}, x, attributes);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(std::isnan(rest.get(i)));
  EXPECT_EQ(rest.get(3), 2);
  EXPECT_EQ(quotient.get(0), INFINITY);
  EXPECT_EQ(quotient.get(1), -INFINITY);
  EXPECT_TRUE(std::isnan(quotient.get(2)));
  EXPECT_EQ(quotient.get(3), 1);
}

} // namespace
