//===- StrategyDual.h - Lower bounds on choices of strategies --*- C++ -*-===//

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

/// The problem with costs moved between edges and nodes, which changes no sum,
/// and with prices of memory beyond the limit, which make no choice that fits
/// dearer. So the sum of all least costs is a lower bound.
class StrategyDual {
public:
  explicit StrategyDual(const StrategyProblem &problem);

  /// Moves costs through all nodes, forth and back.
  void sweep();
  /// Changes prices where the least choices use too much, or too little, by
  /// steps of the gap to the cost `known`.
  void changePrices(double known);

  /// Safe against rounding.
  double getBound() const;
  /// Returns the price of the limit: the least cost of choices is at least the
  /// sum of costs minus this price.
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
