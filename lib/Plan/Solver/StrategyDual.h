//===- StrategyDual.h - Lower bounds on choices of strategies --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_STRATEGYDUAL_H
#define MF_LIB_PLAN_SOLVER_STRATEGYDUAL_H

#include "mf/Plan/Solver/StrategyProblem.h"

namespace mf::solver {

/// An edge as a node sees it.
struct StrategyLink {
  size_t edge = 0;
  size_t other = 0;
  /// True if the node is the edge's `from`.
  bool isFrom = false;
};

/// The problem with costs moved between edges and nodes, which does not change
/// the cost of any choice, and with prices on memory beyond the limit, which do
/// not raise the cost of a choice that fits. So the sum of all least costs is a
/// lower bound.
class StrategyDual {
public:
  explicit StrategyDual(const StrategyProblem &problem);

  /// Moves costs through all nodes, forwards and backwards.
  void sweep();
  /// Raises the prices where the least choices use too much memory, and lowers
  /// them where they use too little. The size of the steps follows from the gap
  /// to the cost `known`.
  void changePrices(double known);

  /// Returns the lower bound, reduced by possible rounding errors.
  double getBound() const;
  /// Returns the price of all memory within the limit. The cost of any choice
  /// is at least the sum of the least costs minus this price.
  double getLimitPrice() const;

  const std::vector<double> &getCosts(size_t node) const { return nodes[node]; }
  double getCost(const StrategyLink &link, size_t own, size_t other) const {
    return edges[link.edge][getIndex(link, own, other)];
  }
  llvm::ArrayRef<StrategyLink> getLinks(size_t node) const {
    return links[node];
  }
  size_t getIndex(const StrategyLink &link, size_t own, size_t other) const {
    return link.isFrom ? own * nodes[link.other].size() + other
                       : other * strides[link.edge] + own;
  }
  /// Returns the sections of time in which a node uses memory.
  std::pair<size_t, size_t> getSections(size_t node) const {
    return sections[node];
  }
  size_t getNumSections() const { return prices.size(); }

private:
  void pass(size_t node, bool isForth);

  const StrategyProblem &problem;
  std::vector<std::vector<double>> nodes, edges;
  /// For each edge, the number of strategies of its `to`.
  std::vector<size_t> strides;
  std::vector<std::vector<StrategyLink>> links;
  std::vector<std::pair<size_t, size_t>> sections;
  std::vector<double> prices;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_STRATEGYDUAL_H
