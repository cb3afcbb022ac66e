//===- StrategyTree.cpp - Depth-first search for strategies ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Solver/StrategyTree.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::solver {

StrategyTree::StrategyTree(const StrategyProblem &problem,
                           const StrategyDual &links, bool usesDual)
    : problem(problem), dual(links), usesDual(usesDual),
      usages(links.getNumSections()), held(problem.nodes.size()),
      places(problem.nodes.size(), -1) {
  for (const StrategyNode &node : problem.nodes)
    leastUsages.push_back(*llvm::min_element(node.usages));
}

double StrategyTree::getNodeCost(size_t node, int64_t choice) const {
  return usesDual ? dual.getCosts(node)[choice]
                  : static_cast<double>(problem.nodes[node].costs[choice]);
}

double StrategyTree::getPairCost(const StrategyLink &link, int64_t own,
                                 int64_t other) const {
  if (usesDual)
    return dual.getCost(link, own, other);
  return static_cast<double>(
      problem.edges[link.edge].costs[dual.getIndex(link, own, other)]);
}

void StrategyTree::addUsage(size_t node, int64_t usage) {
  const auto [begin, end] = dual.getSections(node);
  for (size_t section = begin; section < end; ++section)
    usages[section] += usage;
}

/// Makes a choice if there is enough memory for it. Returns whether there is.
bool StrategyTree::tryUsage(size_t node, int64_t choice) {
  const int64_t more = problem.nodes[node].usages[choice] - leastUsages[node];
  const auto [begin, end] = dual.getSections(node);
  for (size_t section = begin; section < end; ++section)
    if (usages[section] + more > problem.usageLimit)
      return false;
  if (more > 0)
    addUsage(node, more);
  current[node] = choice;
  return true;
}

void StrategyTree::removeUsage(size_t node, int64_t choice) {
  if (const int64_t more =
          problem.nodes[node].usages[choice] - leastUsages[node];
      more > 0)
    addUsage(node, -more);
}

void StrategyTree::leave(llvm::ArrayRef<size_t> chosen) {
  for (const size_t node : chosen)
    removeUsage(node, current[node]);
}

void StrategyTree::findRests(llvm::ArrayRef<size_t> order) {
  rests.assign(order.size() + 1, 0);
  for (size_t place = order.size(); place-- > 0;) {
    const size_t node = order[place];
    const auto count = static_cast<int64_t>(problem.nodes[node].costs.size());
    double least = std::numeric_limits<double>::infinity();
    for (int64_t choice = 0; choice < count; ++choice) {
      double cost = getNodeCost(node, choice);
      for (const StrategyLink &link : dual.getLinks(node))
        if (places[link.other] < 0)
          cost += getPairCost(link, choice, current[link.other]);
      least = std::min(least, cost);
    }
    for (const StrategyLink &link : dual.getLinks(node)) {
      if (places[link.other] < 0 || !isPaid(node, link))
        continue;
      double pair = std::numeric_limits<double>::infinity();
      const auto others =
          static_cast<int64_t>(problem.nodes[link.other].costs.size());
      for (int64_t choice = 0; choice < count; ++choice)
        for (int64_t other = 0; other < others; ++other)
          pair = std::min(pair, getPairCost(link, choice, other));
      least += pair;
    }
    rests[place] = rests[place + 1] + least;
  }
}

void StrategyTree::begin(llvm::ArrayRef<size_t> order,
                         llvm::ArrayRef<int64_t> choices) {
  std::fill(places.begin(), places.end(), -1);
  for (const auto &[place, node] : llvm::enumerate(order))
    places[node] = static_cast<int64_t>(place);
  current = choices.vec();
  for (size_t node = 0; node < problem.nodes.size(); ++node) {
    const int64_t usage = places[node] >= 0
                              ? leastUsages[node]
                              : problem.nodes[node].usages[current[node]];
    if (usage != held[node])
      addUsage(node, usage - held[node]);
    held[node] = usage;
  }
  findRests(order);
}

void StrategyTree::open(size_t node, double sum, double limit, Level &level) {
  level.options.clear();
  level.next = 0;
  level.sum = sum;
  const auto count = static_cast<int64_t>(problem.nodes[node].costs.size());
  for (int64_t choice = 0; choice < count; ++choice) {
    double cost = sum + getNodeCost(node, choice);
    for (const StrategyLink &link : dual.getLinks(node))
      if (isPaid(node, link))
        cost += getPairCost(link, choice, current[link.other]);
    if (cost < limit)
      level.options.emplace_back(cost, choice);
  }
  llvm::sort(level.options);
}

StrategyTree::Outcome StrategyTree::search(
    llvm::ArrayRef<size_t> order, std::vector<int64_t> &choices,
    std::optional<int64_t> banned, int64_t work, double &threshold,
    llvm::function_ref<bool(double sum)> isKept,
    llvm::function_ref<bool()> isOver) {
  constexpr int64_t untilAsked = 256;
  Outcome outcome;
  begin(order, choices);
  std::vector<Level> levels(order.size());
  size_t depth = 0;
  open(order[0], 0, threshold - rests[1], levels[0]);
  llvm::erase_if(levels[0].options,
                 [&](const auto &option) { return option.second == banned; });
  for (int64_t entered = 0;; ++entered) {
    if (entered > work || (entered % untilAsked == 0 && isOver())) {
      leave(order.take_front(depth));
      return outcome;
    }
    Level &level = levels[depth];
    bool isDeeper = false;
    while (level.next < level.options.size() && !isDeeper) {
      const auto [cost, choice] = level.options[level.next++];
      if (cost + rests[depth + 1] >= threshold) {
        level.next = level.options.size();
        break;
      }
      if (!tryUsage(order[depth], choice))
        continue;
      if (depth + 1 < order.size()) {
        open(order[depth + 1], cost, threshold - rests[depth + 2],
             levels[depth + 1]);
        isDeeper = true;
        break;
      }
      if (isKept(cost)) {
        choices = current;
        outcome.isBetter = true;
      }
      removeUsage(order[depth], choice);
    }
    if (isDeeper) {
      ++depth;
      continue;
    }
    if (depth == 0)
      break;
    --depth;
    removeUsage(order[depth], current[order[depth]]);
  }
  outcome.isComplete = true;
  return outcome;
}

} // namespace mf::solver
