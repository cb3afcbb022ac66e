//===- TreatmentHullTest.cpp - Treatments that are worth mixing -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlannerTesting.h"
#include "lib/Plan/Settings/LayerCosts.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mf;
using namespace mf::planner;

namespace {

struct Points {
  std::vector<double> memory, time;
};

/// The least time that a mixture of two takes which keeps at most `memory`;
/// infinite if none does.
double mixTwo(const Points &points, size_t one, size_t other, double memory) {
  if (points.memory[one] < points.memory[other])
    std::swap(one, other);
  double least = std::numeric_limits<double>::infinity();
  for (const size_t alone : {one, other})
    if (points.memory[alone] <= memory)
      least = std::min(least, points.time[alone]);
  if (points.memory[one] > memory && points.memory[other] <= memory) {
    const double share = (points.memory[one] - memory) /
                         (points.memory[one] - points.memory[other]);
    least = std::min(least, points.time[one] + share * (points.time[other] -
                                                        points.time[one]));
  }
  return least;
}

Points drawPoints(std::mt19937 &random) {
  Points points;
  std::uniform_int_distribution<int> count(1, 7), value(0, 8);
  for (int left = count(random); left > 0; --left) {
    points.memory.push_back(value(random));
    points.time.push_back(value(random));
  }
  return points;
}

} // namespace

TEST(TreatmentHullTest, LeavesOutWhatIsOnOrAboveALine) {
  // By number: the fastest, one on the line to the smallest, one above it, the
  // smallest, and one that is as fast and larger.
  EXPECT_EQ(findHull({8, 4, 6, 0, 9}, {0, 2, 3, 4, 0}),
            (std::vector<size_t>{0, 3}));
  EXPECT_EQ(findHull({8, 3, 0}, {0, 1, 4}), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(findHull({5, 5}, {1, 1}), (std::vector<size_t>{0}));
}

TEST(TreatmentHullTest, NeighboursMixAsWellAsAnyTwo) {
  std::mt19937 random(1);
  for (int draw = 0; draw < 500; ++draw) {
    const Points points = drawPoints(random);
    const std::vector<size_t> hull = findHull(points.memory, points.time);
    ASSERT_FALSE(hull.empty());
    for (size_t at = 1; at < hull.size(); ++at) {
      EXPECT_LT(points.memory[hull[at]], points.memory[hull[at - 1]]);
      EXPECT_GT(points.time[hull[at]], points.time[hull[at - 1]]);
    }
    for (int half = 0; half <= 16; ++half) {
      const double memory = 0.5 * half;
      double any = std::numeric_limits<double>::infinity(), neighbours = any;
      for (size_t one = 0; one < points.memory.size(); ++one)
        for (size_t other = one; other < points.memory.size(); ++other)
          any = std::min(any, mixTwo(points, one, other, memory));
      for (size_t at = 0; at < hull.size(); ++at)
        neighbours =
            std::min(neighbours, mixTwo(points, hull[at > 0 ? at - 1 : 0],
                                        hull[at], memory));
      if (any == std::numeric_limits<double>::infinity())
        EXPECT_EQ(neighbours, any);
      else
        EXPECT_NEAR(neighbours, any, 1e-9) << "with memory " << memory;
    }
  }
}

TEST(TreatmentHullTest, ChunksMixNeighboursAndSwap) {
  PlanContext context = makeContext({0, 0, 0, 0, 0}, 2);
  context.treatments = makeFourTreatments(1);
  context.treatments.insert(context.treatments.begin() + 3,
                            context.treatments[2]);
  solver::Problem problem;
  problem.schedule = context.schedule;
  problem.kinds.resize(1);
  problem.kinds[0].count = 5;
  problem.kinds[0].treatments.resize(5);
  // Swap, full, a selection that is not worth it, one that is, none.
  const std::vector<double> memory = {0, 1, 5, 4, 10}, time = {6, 9, 8, 7, 6};
  for (size_t index = 0; index < memory.size(); ++index) {
    problem.kinds[0].treatments[index].activationMemory = memory[index];
    problem.kinds[0].treatments[index].backward = time[index];
  }
  restrictMixtures(context, problem);
  const std::vector<int64_t> never = {0, 0};
  EXPECT_EQ(problem.fixedTreatments,
            (std::vector<std::vector<int64_t>>{{}, {}, never, {}, {}}));
  EXPECT_EQ(problem.exclusive,
            (std::vector<std::pair<size_t, size_t>>{{1, 4}}));
  EXPECT_EQ(problem.maxLayersPerChunk, 6);
}
