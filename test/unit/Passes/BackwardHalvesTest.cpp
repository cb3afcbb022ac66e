//===- BackwardHalvesTest.cpp - Chooses the half of backward --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/split/BackwardHalves.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace mf::passes;

namespace {

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
    std::vector<BackwardOperator> operators(below(13));
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
