//===- StrategySolver.cpp - Chooses strategies of nodes -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/StrategySolver.h"
#include "lib/Plan/Solver/StrategyTree.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

namespace mf::solver {

namespace {

class StrategyChooser {
public:
  StrategyChooser(const StrategyProblem &problem,
                  const StrategyOptions &options)
      : problem(problem), options(options), dual(problem) {}

  StrategyResult run();

private:
  using Clock = std::chrono::steady_clock;

  double getShareOfTime() const {
    return std::chrono::duration<double>(Clock::now() - begin).count() /
           options.timeLimit;
  }
  bool isOver(double share = 1) const {
    return (options.stop && *options.stop) || getShareOfTime() > share;
  }
  void raiseBound();
  bool searchAll(int64_t work);
  bool note(llvm::ArrayRef<int64_t> choices);
  std::vector<size_t> growFrom(size_t node, size_t size) const;
  double sumAround(llvm::ArrayRef<size_t> order,
                   llvm::ArrayRef<int64_t> choices) const;
  void improve();

  const StrategyProblem &problem;
  const StrategyOptions &options;
  const Clock::time_point begin = Clock::now();
  StrategyDual dual;
  StrategyResult result;
};

} // namespace

/// The largest share of the time that the search of all choices and the bound
/// before it may take.
static constexpr double shareOfAll = 0.25;

void StrategyChooser::raiseBound() {
  constexpr int sweeps = 20;
  for (int index = 0; index < sweeps && !isOver(shareOfAll); ++index) {
    dual.sweep();
    const double bound = dual.getBound();
    if (bound >= static_cast<double>(forbiddenCost))
      return;
    result.bound = std::max(
        result.bound, static_cast<int64_t>(std::ceil(std::max(0.0, bound))));
    if (index + 1 < sweeps)
      dual.changePrices(result.choices.empty()
                            ? bound + 0.05 * std::abs(bound) + 1
                            : static_cast<double>(result.cost));
  }
}

/// Stores choices if they improve on the best ones. Returns whether they do.
bool StrategyChooser::note(llvm::ArrayRef<int64_t> choices) {
  llvm::Expected<int64_t> cost = checkStrategies(problem, choices);
  if (!cost) {
    llvm::consumeError(cost.takeError());
    return false;
  }
  if (!result.choices.empty() && *cost >= result.cost)
    return false;
  result.choices = choices.vec();
  result.cost = *cost;
  return true;
}

/// Returns true if no better choices exist.
bool StrategyChooser::searchAll(int64_t work) {
  // Costs are whole numbers, so an improvement is at least this large.
  constexpr double least = 0.5;
  const double limitPrice = dual.getLimitPrice();
  double threshold =
      result.choices.empty()
          ? static_cast<double>(forbiddenCost) / 2
          : static_cast<double>(result.cost) - least + limitPrice;
  std::vector<size_t> order(problem.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int64_t> choices(problem.nodes.size());
  StrategyTree tree(problem, dual, /*usesDual=*/true);
  const StrategyTree::Outcome outcome = tree.search(
      order, choices, std::nullopt, work, threshold,
      [&](double) {
        if (!note(tree.getCurrent()))
          return false;
        threshold = static_cast<double>(result.cost) - least + limitPrice;
        return true;
      },
      [&] { return isOver(shareOfAll); });
  return outcome.isComplete;
}

/// Returns the nodes with the shortest distance from `node`, in edges.
std::vector<size_t> StrategyChooser::growFrom(size_t node, size_t size) const {
  std::vector<size_t> grown = {node};
  for (size_t next = 0; next < grown.size() && grown.size() < size; ++next)
    for (const StrategyLink &link : dual.getLinks(grown[next]))
      if (grown.size() < size && !llvm::is_contained(grown, link.other))
        grown.push_back(link.other);
  return grown;
}

/// Returns the sum of the costs of nodes and of their edges.
double StrategyChooser::sumAround(llvm::ArrayRef<size_t> order,
                                  llvm::ArrayRef<int64_t> choices) const {
  double sum = 0;
  for (const auto &[place, node] : llvm::enumerate(order)) {
    sum += static_cast<double>(problem.nodes[node].costs[choices[node]]);
    for (const StrategyLink &link : dual.getLinks(node)) {
      // Edges within the neighbourhood count once, at the later node.
      if (llvm::is_contained(order.drop_front(place + 1), link.other))
        continue;
      sum += static_cast<double>(
          problem.edges[link.edge]
              .costs[dual.getIndex(link, choices[node], choices[link.other])]);
    }
  }
  return sum;
}

/// Changes one node after another, with the best choices of its neighbours,
/// while all others stay the same. Worse choices are accepted too, with a
/// probability that decreases during the search.
void StrategyChooser::improve() {
  constexpr size_t smallest = 2, sizes = 12;
  constexpr int64_t work = 2000;
  constexpr double mostAbove = 0.03;
  std::mt19937_64 bits(1);
  StrategyTree tree(problem, dual, /*usesDual=*/false);
  std::vector<int64_t> working = result.choices;
  double cost = static_cast<double>(result.cost);
  const double warmest = cost / static_cast<double>(problem.nodes.size());
  const double first = getShareOfTime();
  while (!isOver() && result.cost > result.bound) {
    const double left = std::max(0.0, 1 - (getShareOfTime() - first) /
                                              std::max(1e-9, 1 - first));
    const double unit = (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53;
    const std::vector<size_t> order =
        growFrom(bits() % problem.nodes.size(), smallest + bits() % sizes);
    const double present = sumAround(order, working);
    double threshold = present - warmest * left * left * std::log(unit);
    double best = present;
    const StrategyTree::Outcome outcome = tree.search(
        order, working, working[order[0]], work, threshold,
        [&](double sum) {
          best = threshold = sum;
          return true;
        },
        [&] { return isOver(); });
    if (!outcome.isBetter)
      continue;
    cost += best - present;
    if (cost < static_cast<double>(result.cost) - 0.5)
      note(working);
    if (cost > static_cast<double>(result.cost) * (1 + mostAbove)) {
      working = result.choices;
      cost = static_cast<double>(result.cost);
    }
  }
}

StrategyResult StrategyChooser::run() {
  if (problem.nodes.empty()) {
    result.isProven = true;
    return std::move(result);
  }
  for (int64_t work = 20'000; !isOver(shareOfAll) && !result.isProven;
       work *= 2) {
    raiseBound();
    result.isProven = searchAll(work);
  }
  if (result.choices.empty())
    return std::move(result);
  if (!result.isProven)
    improve();
  if (result.isProven || result.bound >= result.cost) {
    result.isProven = true;
    result.bound = result.cost;
  }
  return std::move(result);
}

StrategyResult chooseStrategies(const StrategyProblem &problem,
                                const StrategyOptions &options) {
  return StrategyChooser(problem, options).run();
}

} // namespace mf::solver
