//===- StrategyTree.h - Depth-first search for strategies ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_STRATEGYTREE_H
#define MF_LIB_PLAN_SOLVER_STRATEGYTREE_H

#include "lib/Plan/Solver/StrategyDual.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace mf::solver {

/// Searches choices of some nodes while the others keep theirs.
class StrategyTree {
public:
  /// If `dual` is given, all costs are those of the dual, otherwise those of
  /// the problem.
  StrategyTree(const StrategyProblem &problem, const StrategyDual &links,
               bool usesDual);

  struct Outcome {
    /// True if all choices that could be better were searched.
    bool isComplete = false;
    /// True if better choices were found, which then are in `choices`.
    bool isBetter = false;
  };

  /// Searches choices for the nodes of `order`, in this order, until `work`
  /// nodes were entered or `isOver` returns true. The first node may not choose
  /// `banned`. `isKept` tells whether complete choices, which fit, are better
  /// than the best ones, and then updates `threshold`. Choices whose cost
  /// reaches the threshold are not searched.
  Outcome search(llvm::ArrayRef<size_t> order, std::vector<int64_t> &choices,
                 std::optional<int64_t> banned, int64_t work, double &threshold,
                 llvm::function_ref<bool(double sum)> isKept,
                 llvm::function_ref<bool()> isOver);

  /// Returns the current choices, for `isKept`.
  llvm::ArrayRef<int64_t> getCurrent() const { return current; }

private:
  /// A node whose choices are tried in the order of their costs.
  struct Level {
    std::vector<std::pair<double, int64_t>> options;
    size_t next = 0;
    double sum = 0;
  };

  void begin(llvm::ArrayRef<size_t> order, llvm::ArrayRef<int64_t> choices);
  double getNodeCost(size_t node, int64_t choice) const;
  double getPairCost(const StrategyLink &link, int64_t own,
                     int64_t other) const;
  /// Returns whether the cost of a link counts at this node, because the other
  /// node is chosen before.
  bool isPaid(size_t node, const StrategyLink &link) const {
    return places[link.other] < places[node];
  }
  void findRests(llvm::ArrayRef<size_t> order);
  void open(size_t node, double sum, double limit, Level &level);
  bool tryUsage(size_t node, int64_t choice);
  void removeUsage(size_t node, int64_t choice);
  void addUsage(size_t node, int64_t usage);
  /// Takes back the choices of these nodes.
  void leave(llvm::ArrayRef<size_t> chosen);

  const StrategyProblem &problem;
  const StrategyDual &dual;
  const bool usesDual;
  std::vector<int64_t> leastUsages;
  std::vector<int64_t> current;
  /// The memory by section: that of nodes which are chosen, and the least
  /// memory of the others.
  std::vector<int64_t> usages;
  /// For each node, the usage that `usages` has before anything is chosen.
  std::vector<int64_t> held;
  /// For each node, its index in the order; -1 if it is not searched.
  std::vector<int64_t> places;
  /// For each index, the least cost of the nodes from there on.
  std::vector<double> rests;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_STRATEGYTREE_H
