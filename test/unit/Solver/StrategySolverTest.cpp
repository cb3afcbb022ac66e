//===- StrategySolverTest.cpp - Choices of strategies ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/StrategySolver.h"
#include "test/unit/Campaign.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>

using namespace mf;
using namespace mf::solver;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

std::string getError(llvm::Error error) { return toString(std::move(error)); }

StrategyProblem makeRandom(uint64_t seed, size_t numNodes, size_t numEdges) {
  std::mt19937_64 bits(seed);
  auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(bits() % (most - least + 1));
  };
  StrategyProblem problem;
  for (size_t index = 0; index < numNodes; ++index) {
    StrategyNode node;
    node.begin = draw(0, 10);
    node.end = node.begin + draw(0, 6);
    for (int64_t count = draw(1, 4); count > 0; --count) {
      node.costs.push_back(draw(0, 100));
      node.usages.push_back(draw(0, 50));
    }
    problem.nodes.push_back(std::move(node));
  }
  for (size_t index = 0; index < numEdges; ++index) {
    StrategyEdge edge;
    edge.from = draw(0, numNodes - 1);
    edge.to = draw(0, numNodes - 2);
    edge.to += edge.to >= edge.from;
    const size_t pairs = problem.nodes[edge.from].costs.size() *
                         problem.nodes[edge.to].costs.size();
    for (size_t pair = 0; pair < pairs; ++pair)
      edge.costs.push_back(draw(0, 9) < 3 ? forbiddenCost : draw(0, 200));
    problem.edges.push_back(std::move(edge));
  }
  problem.usageLimit = draw(20, 120);
  return problem;
}

/// The least cost of all choices; none if nothing fits.
std::optional<int64_t> enumerateCosts(const StrategyProblem &problem) {
  std::optional<int64_t> least;
  std::vector<int64_t> choices(problem.nodes.size());
  for (;;) {
    llvm::Expected<int64_t> cost = checkStrategies(problem, choices);
    if (!cost)
      llvm::consumeError(cost.takeError());
    else if (!least || *cost < *least)
      least = *cost;
    size_t node = 0;
    while (node < choices.size() &&
           ++choices[node] ==
               static_cast<int64_t>(problem.nodes[node].costs.size()))
      choices[node++] = 0;
    if (node == choices.size())
      return least;
  }
}

TEST(StrategySolverTest, IsExactOnSmallProblems) {
  const uint64_t firstSeed = getCampaignSeed(0);
  const uint64_t numProblems = getCampaignCount(400);
  uint64_t numFitting = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numProblems; ++seed) {
    SCOPED_TRACE(seed);
    const StrategyProblem problem = makeRandom(seed, 7, 9);
    const std::optional<int64_t> least = enumerateCosts(problem);
    const StrategyResult result = chooseStrategies(problem, {});
    ASSERT_TRUE(result.isProven);
    ASSERT_EQ(!result.choices.empty(), least.has_value());
    if (!least)
      continue;
    ++numFitting;
    ASSERT_EQ(result.cost, *least);
    ASSERT_EQ(result.bound, *least);
    ASSERT_EQ(llvm::cantFail(checkStrategies(problem, result.choices)), *least);
  }
  // Unless these are too few to tell.
  if (numProblems >= 100)
    EXPECT_GT(numFitting, numProblems / 4);
}

/// The bound holds where the search does not end.
TEST(StrategySolverTest, BoundsWhatItCannotProve) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    StrategyProblem problem = makeRandom(seed, 300, 400);
    for (StrategyEdge &edge : problem.edges)
      for (int64_t &cost : edge.costs)
        cost = std::min<int64_t>(cost, 500);
    problem.usageLimit = 3000;
    StrategyOptions options;
    options.timeLimit = 0.3;
    const StrategyResult result = chooseStrategies(problem, options);
    ASSERT_FALSE(result.choices.empty());
    EXPECT_LE(result.bound, result.cost);
    EXPECT_GT(result.bound, 0);
    EXPECT_EQ(llvm::cantFail(checkStrategies(problem, result.choices)),
              result.cost);
  }
}

constexpr const char *example = R"({"problem": {"name": "example",
  "nodes": {"intervals": [[0, 4], [2, 6], [3, 3]],
            "costs": [[5, 1], [4, 0], [7]], "usages": [[1, 6], [1, 6], [99]]},
  "edges": {"nodes": [[0, 1], [2, 1]],
            "costs": [[0, 0, 3, 1000000000000000000], [2, 1]]},
  "usage_limit": 10}})";

TEST(StrategySolverTest, ReadsAndSolvesTheFormatOfTheContest) {
  const StrategyProblem problem =
      llvm::cantFail(readStrategyProblem(example, "example.json"));
  const StrategyResult result = chooseStrategies(problem, {});
  EXPECT_THAT(result.choices, ElementsAre(0, 1, 0));
  EXPECT_EQ(result.cost, 5 + 0 + 7 + 0 + 1);
  EXPECT_TRUE(result.isProven);
}

TEST(StrategySolverTest, ChecksWithoutTheSolver) {
  StrategyProblem problem =
      llvm::cantFail(readStrategyProblem(example, "example.json"));
  auto check = [&](const std::vector<int64_t> &choices) {
    llvm::Expected<int64_t> cost = checkStrategies(problem, choices);
    return cost ? std::to_string(*cost) : getError(cost.takeError());
  };
  EXPECT_EQ(check({0, 0, 0}), "18");
  EXPECT_EQ(check({1, 1, 0}), "strategies are chosen together that may not be");
  EXPECT_EQ(check({0, 2, 0}), "node 1 has no strategy 2");
  EXPECT_EQ(check({0, 0}), "2 choices for 3 nodes");
  problem.usageLimit = 6;
  EXPECT_EQ(check({0, 1, 0}), "7 is used at time 2, more than the limit of 6");
}

TEST(StrategySolverTest, SaysWhatIsWrongWithAFile) {
  auto read = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string text = example;
    const size_t at = text.find(from.str());
    text.replace(at, from.size(), to.str());
    llvm::Expected<StrategyProblem> problem =
        readStrategyProblem(text, "p.json");
    return problem ? std::string("read") : getError(problem.takeError());
  };
  EXPECT_THAT(read("[2, 6]", "[6, 2]"),
              HasSubstr("p.json: intervals[1] of nodes: expected a begin and "
                        "an end"));
  EXPECT_THAT(read("[5, 1]", "[5]"),
              HasSubstr("usages[0] of nodes: expected one for each"));
  EXPECT_THAT(read("[2, 1]", "[2, 7]"),
              HasSubstr("nodes[1] of edges: expected whole numbers from 0 to "
                        "2"));
  EXPECT_THAT(read("[0, 0, 3, 1000000000000000000]", "[0, 0]"),
              HasSubstr("costs[0] of edges: expected 4 numbers, one for each "
                        "pair of strategies, found 2"));
  EXPECT_THAT(read("usage_limit", "limit"),
              HasSubstr("expected a whole number 'usage_limit'"));
  EXPECT_THAT(read("\"edges\"", "\"links\""),
              HasSubstr("expected an object 'edges'"));
}

} // namespace
