//===- BackwardHalvesTest.cpp - Chooses the half of backward --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/split/BackwardHalves.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace mf::passes;
using testing::ElementsAre;

namespace {

BackwardOperator makeOperator(llvm::ArrayRef<int64_t> producers,
                              llvm::ArrayRef<int64_t> returned = {}) {
  BackwardOperator op;
  op.producers.assign(producers.begin(), producers.end());
  op.returned.assign(returned.begin(), returned.end());
  return op;
}

TEST(BackwardHalvesTest, NothingToSplit) {
  EXPECT_THAT(planWeightHalf({}, 1), ElementsAre());
}

TEST(BackwardHalvesTest, WhatReachesAHiddenInputDoesNotWait) {
  // A matrix product: what comes back, the input's gradient, the weight's, a
  // cast of that one.
  EXPECT_THAT(planWeightHalf({makeOperator({}), makeOperator({0}, {0}),
                              makeOperator({0}), makeOperator({2}, {1})},
                             1),
              ElementsAre(false, false, true, true));
}

TEST(BackwardHalvesTest, AnOperatorThatMakesBothDoesNotWait) {
  // A norm's gradients; the weight's is cast.
  EXPECT_THAT(
      planWeightHalf({makeOperator({}, {0}), makeOperator({0}, {1})}, 1),
      ElementsAre(false, true));
}

TEST(BackwardHalvesTest, AnyHiddenInputCounts) {
  EXPECT_THAT(planWeightHalf({makeOperator({}, {0}), makeOperator({}, {1}),
                              makeOperator({}, {2})},
                             2),
              ElementsAre(false, false, true));
}

TEST(BackwardHalvesTest, SeveralParametersMayWaitTogetherBehindAHiddenInput) {
  EXPECT_THAT(planWeightHalf({makeOperator({}), makeOperator({0}, {1}),
                              makeOperator({0}, {2}), makeOperator({}, {0})},
                             1),
              ElementsAre(true, true, true, false));
}

TEST(BackwardHalvesTest, WithoutHiddenInputOneGradientMayWait) {
  // 0 leads to two parameters, 1 makes the one, 2 and 3 the other.
  EXPECT_THAT(planWeightHalf({makeOperator({}), makeOperator({0}, {0}),
                              makeOperator({0}), makeOperator({2}, {1})},
                             0),
              ElementsAre(false, true, true, true));
}

TEST(BackwardHalvesTest, WhatNobodyReadsMayWait) {
  EXPECT_THAT(planWeightHalf({makeOperator({}), makeOperator({}, {0})}, 1),
              ElementsAre(true, false));
}

/// The results that an operator reaches, found one path at a time.
std::set<int64_t> findReached(llvm::ArrayRef<BackwardOperator> operators,
                              size_t from) {
  std::set<int64_t> reached(operators[from].returned.begin(),
                            operators[from].returned.end());
  for (size_t user = from + 1; user < operators.size(); ++user)
    if (llvm::is_contained(operators[user].producers,
                           static_cast<int64_t>(from)))
      for (int64_t result : findReached(operators, user))
        reached.insert(result);
  return reached;
}

TEST(BackwardHalvesTest, IsTheRuleOnRandomGraphs) {
  std::mt19937 random(1);
  auto below = [&](size_t limit) {
    return static_cast<int64_t>(random() % limit);
  };
  for (int round = 0; round < 300; ++round) {
    const int64_t numHidden = below(3);
    std::vector<BackwardOperator> operators(1 + below(12));
    for (size_t i = 0; i < operators.size(); ++i) {
      for (int64_t n = i > 0 ? below(3) : 0; n > 0; --n)
        operators[i].producers.push_back(below(i));
      if (below(2) == 0)
        operators[i].returned.push_back(below(numHidden + 3));
    }
    std::vector<bool> waits = planWeightHalf(operators, numHidden);
    for (size_t i = 0; i < operators.size(); ++i) {
      std::set<int64_t> reached = findReached(operators, i);
      const bool expected =
          numHidden > 0
              ? llvm::none_of(
                    reached, [&](int64_t result) { return result < numHidden; })
              : reached.size() <= 1;
      EXPECT_EQ(waits[i], expected) << "round " << round << ", operator " << i;
      // No operator of the first half reads one that waits.
      for (int64_t producer : operators[i].producers)
        EXPECT_TRUE(waits[i] || !waits[producer]);
    }
  }
}

} // namespace
