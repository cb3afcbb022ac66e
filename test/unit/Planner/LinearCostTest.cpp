//===- LinearCostTest.cpp - Sums over layers ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayerCosts.h"
#include <gtest/gtest.h>
#include <random>

using namespace mf::planner;

static Composition compose(std::map<std::pair<size_t, size_t>, int64_t> layers,
                           std::set<size_t> extras = {}) {
  Composition composition;
  composition.layers = std::move(layers);
  composition.extras = std::move(extras);
  return composition;
}

TEST(LinearCostTest, FindsTheCostsThatSumsAreMadeOf) {
  constexpr size_t kinds = 2, treatments = 3;
  const double costs[kinds][treatments] = {{5, 7.25, 0}, {0.5, 11, 3}};
  const double extras[] = {40, 8.5};
  LinearCost fitted(kinds, treatments);
  std::mt19937 random(1);
  std::uniform_int_distribution<int> count(0, 4), coin(0, 1);
  auto draw = [&](double &sum) {
    Composition drawn;
    for (size_t kind = 0; kind < kinds; ++kind)
      for (size_t treatment = 0; treatment < treatments; ++treatment)
        if (const int layers = count(random)) {
          drawn.layers[{kind, treatment}] = layers;
          sum += layers * costs[kind][treatment];
        }
    for (const size_t extra : {0, 1})
      if (coin(random)) {
        drawn.extras.insert(extra);
        sum += extras[extra];
      }
    return drawn;
  };
  for (int row = 0; row < 20; ++row) {
    double sum = 0;
    const Composition drawn = draw(sum);
    fitted.add(drawn, sum);
  }
  fitted.solve();
  for (size_t kind = 0; kind < kinds; ++kind)
    for (size_t treatment = 0; treatment < treatments; ++treatment)
      EXPECT_NEAR(fitted.get(kind, treatment), costs[kind][treatment], 1e-9);
  for (const size_t extra : {0, 1})
    EXPECT_NEAR(fitted.getExtra(extra), extras[extra], 1e-9);
  double sum = 0;
  const Composition other = draw(sum);
  EXPECT_NEAR(fitted.predict(other), sum, 1e-9);
}

TEST(LinearCostTest, SharesOutWhatIsNeverSeenApart) {
  LinearCost fitted(2, 1);
  fitted.add(compose({{{0, 0}, 2}, {{1, 0}, 2}}), 12);
  fitted.solve();
  EXPECT_NEAR(fitted.get(0, 0), 3, 1e-9);
  EXPECT_NEAR(fitted.get(1, 0), 3, 1e-9);
  EXPECT_NEAR(fitted.getExtra(0), 0, 1e-9);
}

// The first kind was seen untreated, and twice as dear as its graph says.
TEST(LinearCostTest, KeepsExpectedDifferencesWhereNothingElseWasSeen) {
  LinearCost fitted(2, 3);
  const double expected[2][3] = {{30, 20, 10}, {7, 4, 1}};
  for (size_t kind = 0; kind < 2; ++kind)
    for (size_t treatment = 0; treatment < 3; ++treatment)
      fitted.expect(kind, treatment, expected[kind][treatment]);
  fitted.add(compose({{{0, 2}, 2}}), 40);
  for (size_t treatment = 0; treatment < 3; ++treatment)
    fitted.add(compose({{{1, treatment}, 1}}), 5 - double(treatment));
  fitted.solve();
  EXPECT_NEAR(fitted.get(0, 2), 20, 1e-9);
  EXPECT_NEAR(fitted.get(0, 1), 30, 0.2);
  EXPECT_NEAR(fitted.get(0, 0), 40, 0.2);
  for (size_t treatment = 0; treatment < 3; ++treatment)
    EXPECT_NEAR(fitted.get(1, treatment), 5 - double(treatment), 1e-9);
}

TEST(LinearCostTest, IsNotNegative) {
  LinearCost fitted(1, 2);
  fitted.add(compose({{{0, 0}, 1}}), 5);
  fitted.add(compose({{{0, 0}, 1}, {{0, 1}, 1}}), 3);
  fitted.solve();
  EXPECT_NEAR(fitted.get(0, 0), 5, 1e-9);
  EXPECT_EQ(fitted.get(0, 1), 0);
}
