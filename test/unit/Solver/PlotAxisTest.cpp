//===- PlotAxisTest.cpp - Tests of axes with round numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Solver/PlotAxis.h"
#include <cmath>
#include <gtest/gtest.h>

using mf::solver::PlotAxis;

namespace {

using Numbers = std::vector<double>;

TEST(PlotAxisTest, HasRoundTicksAroundTheValues) {
  EXPECT_EQ(PlotAxis({41, 59}, 7).getTicks(), Numbers({40, 45, 50, 55, 60}));
  EXPECT_EQ(PlotAxis({0, 10}, 3).getTicks(), Numbers({0, 5, 10}));
}

TEST(PlotAxisTest, GivesOneValueAndNoneRoom) {
  EXPECT_LT(PlotAxis({5}, 5).getTicks().front(),
            PlotAxis({5}, 5).getTicks().back());
  EXPECT_EQ(PlotAxis({}, 3).getTicks(), Numbers({0, 0.5, 1}));
  EXPECT_GE(PlotAxis({0}, 5).getTicks().size(), 2U);
  // Rounding errors are no range.
  EXPECT_LE(PlotAxis({1e9, 1e9 + 1e-7}, 5).getTicks().size(), 5U);
}

TEST(PlotAxisTest, KeepsToTheNumberOfTicksAndCoversAll) {
  for (const double scale : {1e-6, 1.0, 3.7, 1e9})
    for (int most = 3; most < 12; ++most) {
      const Numbers values = {1.3 * scale, 4.9 * scale, 9.99 * scale};
      const PlotAxis axis(values, most);
      const Numbers &ticks = axis.getTicks();
      EXPECT_LE(ticks.size(), static_cast<size_t>(most));
      EXPECT_LE(ticks.front(), values.front() * (1 + 1e-12));
      EXPECT_GE(ticks.back(), values.back() * (1 - 1e-12));
    }
}

TEST(PlotAxisTest, PlacesValuesBetweenItsEnds) {
  const PlotAxis axis({0, 10}, 3);
  EXPECT_EQ(axis.place(0, 100, 200), 100);
  EXPECT_EQ(axis.place(2.5, 100, 200), 125);
  EXPECT_EQ(axis.place(10, 100, 200), 200);
}

} // namespace
