//===- StrategyDual.cpp - Lower bounds on choices of strategies -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Solver/StrategyDual.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::solver {

/// Edges between the same nodes are merged.
StrategyDual::StrategyDual(const StrategyProblem &problem)
    : problem(problem), links(problem.nodes.size()) {
  std::vector<int64_t> times;
  for (const StrategyNode &node : problem.nodes) {
    nodes.emplace_back(node.costs.begin(), node.costs.end());
    times.push_back(node.begin);
    times.push_back(node.end);
  }
  llvm::sort(times);
  times.erase(llvm::unique(times), times.end());
  prices.resize(times.size());
  auto findSection = [&](int64_t time) {
    return static_cast<size_t>(llvm::lower_bound(times, time) - times.begin());
  };
  for (const StrategyNode &node : problem.nodes)
    sections.emplace_back(findSection(node.begin), findSection(node.end));
  for (const auto &[index, edge] : llvm::enumerate(problem.edges)) {
    edges.emplace_back(edge.costs.begin(), edge.costs.end());
    strides.push_back(nodes[edge.to].size());
    links[edge.from].push_back({index, edge.to, true});
    links[edge.to].push_back({index, edge.from, false});
  }
}

/// Moves as much cost as possible from edges to a node, and then moves what
/// exceeds the node's least cost to the edges that follow.
void StrategyDual::pass(size_t node, bool isForth) {
  std::vector<double> &own = nodes[node];
  size_t numNext = 0;
  for (const StrategyLink &link : links[node]) {
    numNext += isForth == (link.other > node);
    std::vector<double> &costs = edges[link.edge];
    for (size_t choice = 0; choice < own.size(); ++choice) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t other = 0; other < nodes[link.other].size(); ++other)
        least = std::min(least, costs[getIndex(link, choice, other)]);
      own[choice] += least;
      for (size_t other = 0; other < nodes[link.other].size(); ++other)
        costs[getIndex(link, choice, other)] -= least;
    }
  }
  if (numNext == 0)
    return;
  const double least = *llvm::min_element(own);
  for (size_t choice = 0; choice < own.size(); ++choice) {
    const double share = (own[choice] - least) / static_cast<double>(numNext);
    for (const StrategyLink &link : links[node])
      if (isForth == (link.other > node))
        for (size_t other = 0; other < nodes[link.other].size(); ++other)
          edges[link.edge][getIndex(link, choice, other)] += share;
    own[choice] = least;
  }
}

void StrategyDual::sweep() {
  for (size_t node = 0; node < nodes.size(); ++node)
    pass(node, true);
  for (size_t node = nodes.size(); node-- > 0;)
    pass(node, false);
}

void StrategyDual::changePrices(double known) {
  std::vector<double> excess(prices.size());
  for (size_t node = 0; node < nodes.size(); ++node) {
    const size_t choice = llvm::min_element(nodes[node]) - nodes[node].begin();
    const auto usage = static_cast<double>(problem.nodes[node].usages[choice]);
    const auto [begin, end] = sections[node];
    for (size_t section = begin; section < end; ++section)
      excess[section] += usage;
  }
  double squares = 0;
  for (size_t section = 0; section < prices.size(); ++section) {
    excess[section] -= static_cast<double>(problem.usageLimit);
    if (excess[section] < 0 && prices[section] == 0)
      excess[section] = 0;
    squares += excess[section] * excess[section];
  }
  if (squares == 0)
    return;
  const double step = 0.5 * std::max(0.0, known - getBound()) / squares;
  // Sums of changes up to each section.
  std::vector<double> sums = {0};
  for (size_t section = 0; section < prices.size(); ++section) {
    const double before = prices[section];
    prices[section] = std::max(0.0, before + step * excess[section]);
    sums.push_back(sums.back() + prices[section] - before);
  }
  for (size_t node = 0; node < nodes.size(); ++node) {
    const double change =
        sums[sections[node].second] - sums[sections[node].first];
    for (size_t choice = 0; choice < nodes[node].size(); ++choice)
      nodes[node][choice] +=
          change * static_cast<double>(problem.nodes[node].usages[choice]);
  }
}

double StrategyDual::getLimitPrice() const {
  double sum = 0;
  for (const double price : prices)
    sum += price * static_cast<double>(problem.usageLimit);
  return sum;
}

double StrategyDual::getBound() const {
  double bound = 0, size = 0;
  auto add = [&](double term) {
    bound += term;
    size += std::abs(term);
  };
  for (const std::vector<double> &costs : nodes)
    add(*llvm::min_element(costs));
  for (const std::vector<double> &costs : edges)
    add(*llvm::min_element(costs));
  for (const double price : prices)
    add(-price * static_cast<double>(problem.usageLimit));
  return bound - 1e-9 * size;
}

} // namespace mf::solver
