//===- RecomputePlanTest.cpp - Operators that backward repeats ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/recompute/RecomputePlan.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>
#include <set>

using namespace mf::passes;

namespace {

std::vector<ForwardOperator> makeRandomGraph(std::mt19937 &random) {
  auto flip = [&](int percent) {
    return static_cast<int>(random() % 100) < percent;
  };
  std::vector<ForwardOperator> operators(random() % 30);
  for (size_t index = 0; index < operators.size(); ++index) {
    ForwardOperator &op = operators[index];
    op.isMarked = flip(50);
    op.isFree = flip(20);
    op.isReadByBackward = flip(30);
    op.readBytes = op.isReadByBackward ? 1 + random() % 9 : 0;
    op.flops = random() % 9;
    if (op.isMarked && !op.isFree && flip(20))
      op.savedBytes = 1 + random() % 9;
    for (size_t producer = 0; producer < index; ++producer)
      if (flip(15))
        op.producers.push_back(static_cast<int64_t>(producer));
  }
  return operators;
}

/// The results of forward that backward needs, by definition and in no clever
/// order: those that it reads, and those that are read to make these again.
/// A result that is kept in another form is not made of its operands.
std::set<int64_t> findNeeded(const std::vector<ForwardOperator> &operators) {
  std::set<int64_t> needed;
  size_t before;
  do {
    before = needed.size();
    for (size_t index = 0; index < operators.size(); ++index) {
      const ForwardOperator &op = operators[index];
      if (op.isReadByBackward)
        needed.insert(static_cast<int64_t>(index));
      if (needed.count(static_cast<int64_t>(index)) && !op.savedBytes &&
          (op.isMarked || op.isFree))
        needed.insert(op.producers.begin(), op.producers.end());
    }
  } while (needed.size() != before);
  return needed;
}

TEST(RecomputePlanTest, RandomGraphsGetTheCloneOfEachNeededMark) {
  std::mt19937 random(20261120);
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::vector<ForwardOperator> operators = makeRandomGraph(random);
    RecomputePlan plan = planRecompute(operators);
    std::set<int64_t> needed = findNeeded(operators);
    std::set<int64_t> cloned(plan.clones.begin(), plan.clones.end());
    ASSERT_TRUE(std::is_sorted(plan.clones.begin(), plan.clones.end()));
    ASSERT_EQ(cloned.size(), plan.clones.size());

    std::set<int64_t> kept;
    int64_t bytes = 0, flops = 0;
    for (size_t index = 0; index < operators.size(); ++index) {
      const ForwardOperator &op = operators[index];
      auto number = static_cast<int64_t>(index);
      bool readsClone = llvm::any_of(
          op.producers, [&](int64_t p) { return cloned.count(p) != 0; });
      bool expected =
          needed.count(number) && (op.isFree ? readsClone : op.isMarked);
      EXPECT_EQ(cloned.count(number) != 0, expected) << "operator " << index;
      if (!cloned.count(number))
        continue;
      bytes += op.isFree ? 0 : op.readBytes;
      if (op.savedBytes)
        continue;
      for (int64_t producer : op.producers)
        if (!cloned.count(producer) && !operators[producer].isFree)
          kept.insert(producer);
      flops += op.isFree ? 0 : op.flops;
    }
    EXPECT_EQ(std::set<int64_t>(plan.kept.begin(), plan.kept.end()), kept);
    EXPECT_EQ(plan.droppedBytes, bytes);
    EXPECT_EQ(plan.flops, flops);
  }
}

} // namespace
