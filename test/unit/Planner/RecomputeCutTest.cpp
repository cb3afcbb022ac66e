//===- RecomputeCutTest.cpp - Chooses operators of a layer to repeat ------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/RecomputeCut.h"
#include "test/unit/Campaign.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mf;
using namespace mf::planner;

namespace {

/// The cost of choosing `isRepeated`: every value that is needed, by backward
/// or by an operator that is repeated, is kept unless it is repeated itself.
double getCost(const LayerGraph &graph, const std::vector<bool> &isRepeated,
               double secondsPerByte) {
  double cost = 0;
  std::vector<bool> isNeeded;
  for (const LayerGraph::Value &value : graph.values)
    isNeeded.push_back(value.isNeeded);
  for (size_t op = 0; op < graph.operators.size(); ++op)
    if (isRepeated[op]) {
      cost += graph.operators[op].seconds;
      for (const size_t input : graph.operators[op].inputs)
        isNeeded[input] = true;
    }
  for (size_t index = 0; index < graph.values.size(); ++index) {
    const LayerGraph::Value &value = graph.values[index];
    const bool isMade =
        !value.producers.empty() &&
        std::all_of(value.producers.begin(), value.producers.end(),
                    [&](size_t producer) { return isRepeated[producer]; });
    if (isNeeded[index] && !value.isFree && !isMade)
      cost += secondsPerByte * static_cast<double>(value.bytes);
  }
  return cost;
}

LayerGraph drawGraph(std::mt19937 &random) {
  LayerGraph graph;
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  graph.values.push_back({draw(1, 50), {}, draw(0, 1) == 0, false});
  graph.values.push_back({draw(1, 50), {}, true, true});
  const int64_t count = draw(1, 10);
  for (int64_t op = 0; op < count; ++op) {
    LayerGraph::Operator entry{
        "op", false, static_cast<double>(draw(1, 100)) / 7, {}};
    for (int64_t input = draw(1, 2); input > 0; --input)
      entry.inputs.push_back(static_cast<size_t>(
          draw(0, static_cast<int64_t>(graph.values.size()) - 1)));
    graph.operators.push_back(entry);
    for (int64_t output = draw(1, 2); output > 0; --output)
      graph.values.push_back(
          {draw(1, 50), {static_cast<size_t>(op)}, draw(0, 2) > 0, false});
  }
  return graph;
}

/// Whether each module runs again as a whole or not at all.
bool keepsModulesWhole(const LayerGraph &graph,
                       const std::vector<bool> &isRepeated) {
  for (size_t one = 0; one < isRepeated.size(); ++one)
    for (size_t other = 0; other < one; ++other)
      if (!graph.operators[one].module.empty() &&
          graph.operators[one].module == graph.operators[other].module &&
          isRepeated[one] != isRepeated[other])
        return false;
  return true;
}

/// Compares the choice at a drawn price with all that there are.
void expectBest(const LayerGraph &graph, std::mt19937 &random) {
  const double price = std::uniform_real_distribution<double>(0.01, 2)(random);
  double least = 1e30;
  const size_t count = graph.operators.size();
  for (size_t mask = 0; mask < (size_t(1) << count); ++mask) {
    std::vector<bool> isRepeated(count);
    for (size_t op = 0; op < count; ++op)
      isRepeated[op] = (mask >> op) & 1;
    if (keepsModulesWhole(graph, isRepeated))
      least = std::min(least, getCost(graph, isRepeated, price));
  }
  const RecomputeChoice choice = chooseRecompute(graph, price);
  EXPECT_TRUE(keepsModulesWhole(graph, choice.isRepeated));
  EXPECT_NEAR(getCost(graph, choice.isRepeated, price), least, 1e-9);
  EXPECT_NEAR(choice.seconds + price * static_cast<double>(choice.keptBytes),
              least, 1e-9);
}

TEST(RecomputeCutTest, IsTheBestOfAllChoices) {
  std::mt19937 random(getCampaignSeed(7));
  const uint64_t rounds = getCampaignCount(300);
  for (uint64_t round = 0; round < rounds; ++round)
    expectBest(drawGraph(random), random);
}

TEST(RecomputeCutTest, IsTheBestOfAllChoicesOfModules) {
  std::mt19937 random(getCampaignSeed(17));
  const uint64_t rounds = getCampaignCount(300);
  for (uint64_t round = 0; round < rounds; ++round) {
    LayerGraph graph = drawGraph(random);
    for (LayerGraph::Operator &op : graph.operators)
      op.module = "module" + std::to_string(random() % 3);
    expectBest(graph, random);
  }
}

TEST(RecomputeCutTest, NeverRepeatsWhatNoPatternNames) {
  std::mt19937 random(13);
  for (int round = 0; round < 100; ++round) {
    LayerGraph graph = drawGraph(random);
    graph.operators.back().mayRepeat = false;
    for (const double price : {1e-3, 1.0, 1e3})
      EXPECT_FALSE(chooseRecompute(graph, price).isRepeated.back());
  }
}

TEST(RecomputeCutTest, ChoicesGrow) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    LayerGraph graph = drawGraph(random);
    // Prices of real layers: milliseconds and megabytes.
    for (LayerGraph::Operator &op : graph.operators)
      op.seconds *= 1e-4;
    for (LayerGraph::Value &value : graph.values)
      value.bytes <<= 20;
    const std::vector<RecomputeChoice> choices = findChoices(graph, 4);
    EXPECT_LE(choices.size(), 4U);
    for (size_t index = 1; index < choices.size(); ++index) {
      EXPECT_LT(choices[index].keptBytes, choices[index - 1].keptBytes);
      EXPECT_GT(choices[index].seconds, choices[index - 1].seconds);
      for (size_t op = 0; op < graph.operators.size(); ++op)
        EXPECT_TRUE(!choices[index - 1].isRepeated[op] ||
                    choices[index].isRepeated[op]);
    }
  }
}

} // namespace
