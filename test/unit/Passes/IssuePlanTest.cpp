//===- IssuePlanTest.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/IssuePlan.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf::passes;

namespace {

PlannedOperator make(std::initializer_list<int64_t> producers) {
  PlannedOperator op;
  op.producers = producers;
  return op;
}

PlannedOperator makeGather(std::initializer_list<int64_t> producers) {
  PlannedOperator op = make(producers);
  op.isGather = true;
  return op;
}

PlannedOperator makeReduction(std::initializer_list<int64_t> producers,
                              std::initializer_list<int64_t> tail) {
  PlannedOperator op = make(producers);
  op.isReduction = true;
  op.tail = tail;
  return op;
}

std::string print(llvm::ArrayRef<PlannedOperator> operators, int64_t inFlight) {
  std::string text;
  for (const PlannedItem &item : planIssue(operators, inFlight).items)
    text += (item.kind == PlannedItem::Kind::Operator ? " " : " !") +
            std::to_string(item.index);
  return text;
}

/// Three layers: a parameter, its gather, its reader.
const std::vector<PlannedOperator> gathers = {
    make({}), makeGather({0}), make({1}),
    make({}), makeGather({3}), make({2, 4}),
    make({}), makeGather({6}), make({5, 7})};

/// Three gradients: what makes it, its sum, the conversion of that.
const std::vector<PlannedOperator> reductions = {
    make({}),  makeReduction({0}, {2}), make({1}),
    make({0}), makeReduction({3}, {5}), make({4}),
    make({3}), makeReduction({6}, {}),  make({6})};

} // namespace

TEST(IssuePlanTest, GathersUnitsOneAhead) {
  // Two weights of unit 0, one of unit 1, two of unit 2.
  std::vector<PlannedOperator> operators;
  for (int64_t unit : {0, 0, 1, 2, 2}) {
    const auto number = static_cast<int64_t>(operators.size());
    operators.push_back(makeGather({}));
    operators.back().unit = unit;
    operators.push_back(make({number}));
  }
  EXPECT_EQ(print(operators, 8), " 0 2 4 1 3 6 8 5 7 9");
  EXPECT_EQ(print(operators, 0), " 0 1 2 3 4 5 6 7 8 9");
  EXPECT_EQ(planIssue(operators, 8).numUnits, 3);
}

TEST(IssuePlanTest, CompletesUnitsWhenTheSecondBehindReduces) {
  // Two gradients of unit 2, one each of units 1, 0 and 4.
  std::vector<PlannedOperator> operators;
  for (int64_t unit : {2, 2, 1, 0, 4}) {
    operators.push_back(makeReduction({}, {}));
    operators.back().unit = unit;
  }
  EXPECT_EQ(print(operators, 8), " 0 1 2 3 !0 !1 4 !2 !3 !4");
  EXPECT_EQ(print(operators, 0), " 0 !0 1 !1 2 !2 3 !3 4 !4");
}

TEST(IssuePlanTest, GathersAheadWithWhatAGatherIsMadeOf) {
  EXPECT_EQ(print(gathers, 1), " 0 1 3 4 2 6 7 5 8");
  EXPECT_EQ(print(gathers, 2), " 0 1 3 4 6 7 2 5 8");
  EXPECT_EQ(print(gathers, 100), " 0 1 3 4 6 7 2 5 8");
}

TEST(IssuePlanTest, CompletesReductionsLaterOrAtTheEnd) {
  EXPECT_EQ(print(reductions, 1), " 0 1 3 4 !1 2 6 7 !4 5 8 !7");
  EXPECT_EQ(print(reductions, 100), " 0 1 3 4 6 7 8 !1 2 !4 5 !7");
}

TEST(IssuePlanTest, KeepsOrdersOfRandomFunctions) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlannedOperator> operators;
    const int64_t size = 1 + static_cast<int64_t>(random() % 40);
    std::vector<bool> isOpen;
    for (int64_t index = 0; index < size; ++index) {
      PlannedOperator op;
      for (int64_t other = 0; other < index; ++other)
        if (isOpen[other] && random() % 4 == 0)
          op.producers.push_back(other);
      op.isGather = op.producers.empty() && random() % 3 == 0;
      isOpen.push_back(true);
      operators.push_back(op);
      if (op.isGather || random() % 4 != 0 || index + 1 == size)
        continue;
      operators.back().isReduction = true;
      operators.back().tail = {index + 1};
      isOpen.back() = false;
      operators.push_back(make({index}));
      isOpen.push_back(false);
      ++index;
    }
    const int64_t inFlight = random() % 4;
    IssuePlan plan = planIssue(operators, inFlight);
    std::vector<int64_t> places(operators.size(), -1);
    std::vector<int64_t> completions(operators.size(), -1);
    int64_t open = 0;
    for (auto [place, item] : llvm::enumerate(plan.items)) {
      const bool isOperator = item.kind == PlannedItem::Kind::Operator;
      auto &list = isOperator ? places : completions;
      ASSERT_EQ(list[item.index], -1);
      list[item.index] = static_cast<int64_t>(place);
      if (operators[item.index].isReduction)
        open += isOperator ? 1 : -1;
      EXPECT_LE(open, inFlight + 1);
    }
    EXPECT_EQ(open, 0);
    for (auto [index, op] : llvm::enumerate(operators)) {
      ASSERT_GE(places[index], 0);
      for (int64_t producer : op.producers)
        EXPECT_LT(places[producer], places[index]);
      for (int64_t member : op.tail)
        EXPECT_LT(completions[index], places[member]);
    }
  }
}
