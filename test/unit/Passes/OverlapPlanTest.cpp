//===- OverlapPlanTest.cpp - Order of operators around collectives --------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/overlap/OverlapPlan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::passes;
using testing::ElementsAre;

namespace {

OrderedOperator compute(std::vector<int64_t> producers) {
  return {"compute", false, false, std::move(producers)};
}
OrderedOperator communicate(std::vector<int64_t> producers) {
  return {"communicate", true, false, std::move(producers)};
}
OrderedOperator constant(std::vector<int64_t> producers = {}) {
  return {"constant", false, true, std::move(producers)};
}

TEST(OverlapPlanTest, KeepsTheOrderOfOneChain) {
  OverlapPlan plan =
      planOverlap({compute({}), communicate({0}), compute({1}), compute({2})});
  EXPECT_THAT(plan.order, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(plan.distance, 0);
  EXPECT_THAT(planOverlap({}).order, ElementsAre());
}

TEST(OverlapPlanTest, RunsAnotherCopyBesideACollective) {
  // Two copies of: compute, communicate, compute, communicate, compute.
  std::vector<OrderedOperator> operators;
  for (int64_t copy : {0, 5}) {
    operators.push_back(compute({}));
    operators.push_back(communicate({copy}));
    operators.push_back(compute({copy + 1}));
    operators.push_back(communicate({copy + 2}));
    operators.push_back(compute({copy + 3}));
  }
  OverlapPlan plan = planOverlap(operators);
  EXPECT_THAT(plan.order, ElementsAre(0, 1, 5, 6, 2, 3, 7, 8, 4, 9));
  EXPECT_EQ(plan.distance, 7);
}

TEST(OverlapPlanTest, WhatIsOfParametersComesWithItsReader) {
  // The cast of a second layer's weight is not a reason to run it early.
  OverlapPlan plan =
      planOverlap({constant(), compute({0}), communicate({1}), compute({2}),
                   constant(), constant({4}), compute({3, 5})});
  EXPECT_THAT(plan.order, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(OverlapPlanTest, AnOlderCollectiveIsOverFirst) {
  // 4 reads the second one, 5 the first.
  OverlapPlan plan =
      planOverlap({compute({}), communicate({0}), communicate({0}),
                   compute({2}), compute({1})});
  EXPECT_THAT(plan.order, ElementsAre(0, 1, 2, 4, 3));
}

TEST(OverlapPlanTest, EveryGraphKeepsItsEdges) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<OrderedOperator> operators;
    for (int64_t i = 0; i < 40; ++i) {
      OrderedOperator op = compute({});
      op.communicates = random() % 4 == 0;
      op.isConstant = true;
      for (int64_t edge = random() % 3; edge > 0 && i > 0; --edge) {
        op.producers.push_back(static_cast<int64_t>(random() % i));
        op.isConstant &= operators[op.producers.back()].isConstant;
      }
      op.isConstant &= random() % 2 == 0;
      operators.push_back(op);
    }
    OverlapPlan plan = planOverlap(operators);
    std::vector<int64_t> position(operators.size(), -1);
    ASSERT_EQ(plan.order.size(), operators.size());
    for (int64_t op : plan.order) {
      ASSERT_EQ(position[op], -1);
      position[op] = 0;
      for (int64_t producer : operators[op].producers)
        ASSERT_EQ(position[producer], 0);
    }
  }
}

} // namespace
