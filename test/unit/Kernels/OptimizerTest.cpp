//===- OptimizerTest.cpp - Accumulation, scaling, AdamW -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

TEST(InplaceAddTest, AddsAnyTypeToAnyType) {
  for (DType xType : floatTypes)
    for (DType yType : floatTypes) {
      KernelTensor x = randomTensor(xType, {300, 111}, 1);
      KernelTensor y = randomTensor(yType, {300, 111}, 2);
      Values expected;
      for (int64_t i = 0; i < x.size(); ++i)
        expected.push_back(x.get(i) + y.get(i));
      expectNear(runOne("aclnnInplaceAdd", {x}, y), expected);
    }
}

TEST(ForeachMulScalarTest, ScalesInPlace) {
  for (DType type : floatTypes) {
    KernelTensor y = randomTensor(type, {70001}, 1);
    Values expected;
    for (double value : y.toVector())
      expected.push_back(value * 0.3);
    expectNear(runOne("aclnnForeachMulScalar", {makeScalar(0.3)}, y), expected);
  }
}

struct AdamW {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weightDecay = 0.1;
  bool biasCorrection = false;
  bool correctsEps = false;

  AttributeMap getAttributes() const {
    return {{"beta1", beta1},
            {"beta2", beta2},
            {"eps", eps},
            {"weight_decay", weightDecay},
            {"bias_correction", biasCorrection},
            {"corrects_eps", correctsEps}};
  }

  void apply(double g, double learningRate, double step, double &w, double &m,
             double &v) const {
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    double first = m, second = v;
    if (biasCorrection) {
      first /= 1 - std::pow(beta1, step);
      second /= 1 - std::pow(beta2, step);
    }
    double root = std::sqrt(second) + eps;
    if (correctsEps)
      root = (std::sqrt(v) + eps) / std::sqrt(1 - std::pow(beta2, step));
    w -= learningRate * (first / root + weightDecay * w);
  }
};

TEST(AdamWTest, FollowsTheReferenceOverSeveralSteps) {
  for (DType gradientType : floatTypes)
    for (DType weightType : floatTypes)
      for (int corrections : {0, 1, 2}) {
        AdamW adamW;
        adamW.biasCorrection = corrections > 0;
        adamW.correctsEps = corrections > 1;
        // An eps that is seen beside a root.
        adamW.eps = corrections > 1 ? 0.1 : 1e-8;
        const int64_t count = 40007;
        KernelTensor weight = randomTensor(weightType, {count}, 1);
        KernelTensor m(DType::F32, {count}), v(DType::F32, {count});
        for (int step = 1; step <= 3; ++step) {
          KernelTensor gradient =
              randomTensor(gradientType, {count}, 10 + step);
          Values w = weight.toVector(), first = m.toVector(),
                 second = v.toVector();
          for (int64_t i = 0; i < count; ++i)
            adamW.apply(gradient.get(i), 0.01, step, w[i], first[i], second[i]);
          Tensors updated =
              runKernel("aclnnApplyAdamWV2",
                        {gradient, makeScalar(step), makeScalar(0.01)},
                        {weight, m, v}, adamW.getAttributes());
          expectNear(updated[0], w);
          expectNear(updated[1], first);
          expectNear(updated[2], second);
          weight = updated[0];
          m = updated[1];
          v = updated[2];
        }
      }
}

TEST(AdamWTest, ARaisedFlagLeavesEverythingAsItIs) {
  KernelTensor gradient = randomTensor(DType::F32, {100}, 1);
  Tensors before = {randomTensor(DType::F32, {100}, 2),
                    randomTensor(DType::F32, {100}, 3),
                    randomTensor(DType::F32, {100}, 4, 0, 1)};
  AttributeMap attributes = AdamW().getAttributes();
  auto update = [&](double flag) {
    return runKernel(
        "aclnnApplyAdamWV2",
        {gradient, makeScalar(1), makeScalar(0.01), makeScalar(flag)}, before,
        attributes);
  };
  EXPECT_TRUE(update(1) == before);
  EXPECT_TRUE(update(0) ==
              runKernel("aclnnApplyAdamWV2",
                        {gradient, makeScalar(1), makeScalar(0.01)}, before,
                        attributes));
  EXPECT_FALSE(update(0) == before);
}

TEST(MomentumTest, AddsTheGradientAndLooksAhead) {
  const double factor = 0.5, momentum = 0.9;
  const KernelTensor m = randomTensor(DType::F32, {40007}, 1);
  for (DType type : floatTypes)
    for (bool nesterov : {false, true}) {
      const KernelTensor gradient = randomTensor(type, {40007}, 2);
      const KernelTensor direction = randomTensor(DType::BF16, {40007}, 3);
      const AttributeMap attributes = {{"momentum", momentum},
                                       {"nesterov", nesterov}};
      auto update = [&](double overflow) {
        return runKernel("mfMomentum",
                         {gradient, makeScalar(overflow), makeScalar(factor)},
                         {m, direction}, attributes);
      };
      Values sums, directions;
      for (int64_t i = 0; i < m.size(); ++i) {
        const double g = gradient.get(i) * factor;
        sums.push_back(momentum * m.get(i) + g);
        directions.push_back(nesterov ? g + momentum * sums.back()
                                      : sums.back());
      }
      const Tensors updated = update(0), skipped = update(1);
      expectNear(updated[0], sums);
      expectNear(updated[1], directions);
      EXPECT_TRUE(skipped[0] == m);
      expectNear(skipped[1], Values(m.size(), 0));
    }
}

TEST(TakeStepTest, DecaysAndGoesAlongTheDirection) {
  const AttributeMap attributes = {{"scale", 3.0}, {"weight_decay", 0.1}};
  for (DType type : floatTypes) {
    const KernelTensor weight = randomTensor(type, {40007}, 1);
    const KernelTensor direction = randomTensor(DType::BF16, {40007}, 2);
    auto update = [&](double overflow) {
      return runOne("mfTakeStep",
                    {direction, makeScalar(0.25), makeScalar(overflow)}, weight,
                    attributes);
    };
    Values expected;
    for (int64_t i = 0; i < weight.size(); ++i)
      expected.push_back((1 - 0.25 * 0.1) * weight.get(i) -
                         0.25 * 3 * direction.get(i));
    expectNear(update(0), expected);
    EXPECT_TRUE(update(1) == weight);
  }
}

// Wide, tall and square matrices, and some so large that the sum of squares is
// that of blocks in a workspace. Programs on CANN call a kernel for each result
// instead, and have the same bits (test/e2e/cann-programs.test).
TEST(NewtonSchulzTest, SingularValuesApproachOne) {
  Values coefficients;
  for (int iteration = 0; iteration < 24; ++iteration)
    coefficients.insert(coefficients.end(), {1.5, -0.5, 0});
  for (DType type : {DType::BF16, DType::F16})
    for (const Ints &dims :
         {Ints{1, 12, 40}, Ints{1, 70, 16}, Ints{3, 5, 5}, Ints{5, 33, 8},
          Ints{1, 1, 7}, Ints{2, 40, 2000}}) {
      SCOPED_TRACE(dims[1]);
      const KernelTensor matrices = randomTensor(type, dims, 1);
      const KernelTensor made =
          runOne("mfNewtonSchulz", {matrices}, matrices,
                 {{"coefficients", coefficients}, {"eps", 1e-3}});
      // Products with themselves are the identity.
      const bool isTall = dims[1] > dims[2];
      const int64_t side = std::min(dims[1], dims[2]);
      const KernelTensor products =
          runOne("aclnnMatmul", {made, made},
                 KernelTensor(DType::F32, {dims[0], side, side}),
                 {{"transpose_a", isTall}, {"transpose_b", !isTall}});
      for (int64_t i = 0; i < products.size(); ++i)
        EXPECT_NEAR(products.get(i), i / side % side == i % side ? 1 : 0, 0.05);
    }
}

TEST(LogitClipTest, ShrinksRowsOfLargeHeads) {
  const KernelTensor largest = makeRow(DType::F32, {50, 100, 400});
  auto getFactors = [&](double overflow) {
    return runOne("mfLogitFactors", {largest, makeScalar(overflow)},
                  KernelTensor(DType::F32, {10}),
                  {{"threshold", 100.0},
                   {"sizes", Ints{1, 2}},
                   {"roots", Ints{1, 2}},
                   {"rest", int64_t{1}}});
  };
  EXPECT_EQ(getFactors(0).toVector(),
            (Values{1, 1, 1, 1, 1, 1, 0.5, 0.25, 0.25, 1}));
  EXPECT_EQ(getFactors(1).toVector(), Values(10, 1));
  for (DType type : floatTypes) {
    const KernelTensor weight = randomTensor(type, {10, 33}, 1);
    Values expected = weight.toVector();
    for (int64_t i = 0; i < weight.size(); ++i)
      expected[i] *= getFactors(0).get(i / 33);
    expectNear(runOne("mfScaleRows", {getFactors(0)}, weight, {}), expected);
  }
}

TEST(TakeGradientTest, MultipliesByEachFactor) {
  for (DType type : floatTypes) {
    const KernelTensor gradient = randomTensor(type, {40007}, 1);
    const KernelTensor out(DType::F32, {40007});
    Values expected = gradient.toVector();
    for (double &element : expected)
      element *= 0.5 * 0.25;
    expectNear(runOne("mfTakeGradient",
                      {gradient, makeScalar(0.5), makeScalar(0.25)}, out, {}),
               expected);
  }
}

TEST(UpdateAverageTest, GivesTheStateAsItsTypeRoundsIt) {
  const KernelTensor x = randomTensor(DType::F32, {40007}, 1);
  for (DType type : floatTypes)
    for (bool grows : {false, true}) {
      const KernelTensor state = randomTensor(type, {40007}, 2);
      const KernelTensor out(DType::F32, {40007});
      auto update = [&](double overflow) {
        return runKernel("mfUpdateAverage",
                         {x, makeScalar(3), makeScalar(overflow)}, {state, out},
                         {{"decay", 0.8}, {"grows", grows}});
      };
      const double beta = grows ? 1 - std::pow(3, -0.8) : 0.8;
      Values expected;
      for (int64_t i = 0; i < x.size(); ++i)
        expected.push_back(beta * state.get(i) + (1 - beta) * x.get(i));
      const Tensors updated = update(0), skipped = update(1);
      expectNear(updated[0], expected);
      EXPECT_EQ(updated[1].toVector(), updated[0].toVector());
      EXPECT_TRUE(skipped[0] == state);
      EXPECT_EQ(skipped[1].toVector(), state.toVector());
    }
}

TEST(AverageWeightTest, JoinsOnSomeStepsAndAppliesOnFewer) {
  const double fused = 3, share = 0.2;
  for (DType type : floatTypes)
    for (bool sums : {false, true}) {
      const AttributeMap attributes = {{"interval", int64_t(2)},
                                       {"fused", int64_t(3)},
                                       {"share", share},
                                       {"sums", sums}};
      KernelTensor average(DType::F32, {40007});
      for (int step = 1; step <= 12; ++step) {
        const KernelTensor weight = randomTensor(type, {40007}, step);
        Values w = weight.toVector(), kept = average.toVector();
        for (size_t i = 0; i < w.size() && step % 2 == 0; ++i) {
          kept[i] =
              sums ? kept[i] + w[i] : (1 - share) * kept[i] + share * w[i];
          if (step % 6 != 0)
            continue;
          w[i] = sums ? kept[i] / fused : kept[i];
          kept[i] = 0;
        }
        const Tensors before = {weight, average};
        EXPECT_TRUE(runKernel("mfAverageWeight",
                              {makeScalar(step), makeScalar(1)}, before,
                              attributes) == before);
        Tensors updated =
            runKernel("mfAverageWeight", {makeScalar(step), makeScalar(0)},
                      before, attributes);
        expectNear(updated[0], w);
        expectNear(updated[1], kept);
        EXPECT_EQ(updated[0] == weight, step % 6 != 0);
        average = updated[1];
      }
    }
}

/// The result of aclnnForeachMulScalar, one factor after another.
KernelTensor scale(KernelTensor gradient,
                   std::initializer_list<double> factors) {
  for (double factor : factors)
    gradient = runOne("aclnnForeachMulScalar", {makeScalar(factor)}, gradient);
  return gradient;
}

// Factors that round, and that leave whole vectors and a tail.
TEST(AdamWTest, FactorsAreProductsThatAreNotWritten) {
  const AttributeMap attributes = AdamW().getAttributes();
  for (DType type : floatTypes)
    for (DType weightType : floatTypes) {
      KernelTensor gradient = randomTensor(type, {40007}, 1);
      Tensors state = {randomTensor(weightType, {40007}, 2),
                       randomTensor(DType::F32, {40007}, 3),
                       randomTensor(DType::F32, {40007}, 4, 0, 1)};
      EXPECT_TRUE(runKernel("aclnnApplyAdamWV2",
                            {gradient, makeScalar(1), makeScalar(0.01),
                             makeScalar(0), makeScalar(0.3), makeScalar(0.7)},
                            state, attributes) ==
                  runKernel("aclnnApplyAdamWV2",
                            {scale(gradient, {0.3, 0.7}), makeScalar(1),
                             makeScalar(0.01), makeScalar(0)},
                            state, attributes));
      EXPECT_TRUE(runKernel("aclnnApplyAdamWV2",
                            {gradient, makeScalar(1), makeScalar(0.01),
                             makeScalar(1), makeScalar(0.3)},
                            state, attributes) == state);
    }
}

TEST(GradientFactorsTest, NormsReadProductsThatAreNotWritten) {
  for (DType type : floatTypes)
    for (int64_t count : {int64_t{5}, int64_t{200003}}) {
      KernelTensor gradient = randomTensor(type, {count}, 1);
      KernelTensor norm(DType::F32, {});
      EXPECT_TRUE(
          runKernel("aclnnForeachNorm",
                    {gradient, makeScalar(0.3), makeScalar(0.7)}, {norm}) ==
          runKernel("aclnnForeachNorm", {scale(gradient, {0.3, 0.7})}, {norm}));
    }
}

TEST(GradientFactorsTest, AnInfiniteProductIsSeen) {
  KernelTensor gradient = randomTensor(DType::F16, {100}, 1);
  gradient.set(99, 60000);
  KernelTensor norm(DType::F32, {});
  EXPECT_TRUE(std::isinf(
      runOne("aclnnForeachNorm", {gradient, makeScalar(2)}, norm).get(0)));
}

} // namespace
