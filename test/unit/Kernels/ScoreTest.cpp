//===- ScoreTest.cpp - Comparisons, quotients, what is not finite ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

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
        KernelTensor x = makeRow(type, values);
        Values expected;
        for (double v : values)
          expected.push_back(c.compare(v, value) ? 1 : 0);
        EXPECT_EQ(runOne(c.name, {x}, x, {{"value", value}}).toVector(),
                  expected)
            << c.name << " " << value;
      }
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

TEST(ScoreTest, TakesAnyNumber) {
  struct Case {
    const char *name;
    AttributeMap attributes;
    std::vector<Values> inputs;
    Values expected;
  };
  const AttributeMap three = {{"value", 3.0}};
  const Values notFinite = {INFINITY, -INFINITY, NAN, 5};
  const Case cases[] = {
      {"aclnnDiv",
       {},
       {{1, -1, 0, NAN, 3}, {0, 0, 0, 1, INFINITY}},
       {INFINITY, -INFINITY, NAN, NAN, 0}},
      {"aclnnGeTensor",
       {},
       {{NAN, 1, NAN, 1, 2}, {1, NAN, NAN, 1, 3}},
       {0, 0, 0, 1, 0}},
      {"aclnnClampMax", three, {notFinite}, {3, -INFINITY, NAN, 3}},
      {"aclnnRemainderTensorScalar", three, {notFinite}, {NAN, NAN, NAN, 2}},
      {"aclnnFloorDivides", three, {notFinite}, {INFINITY, -INFINITY, NAN, 1}}};
  for (const Case &one : cases) {
    SCOPED_TRACE(one.name);
    Tensors inputs;
    for (const Values &values : one.inputs)
      inputs.push_back(makeRow(DType::F32, values));
    expectNear(runOne(one.name, inputs, inputs[0], one.attributes),
               one.expected);
  }
}

} // namespace
