//===- TreeSearch.h - Branch and bound over sets of plans -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_TREESEARCH_H
#define MF_LIB_PLAN_SOLVER_TREESEARCH_H

#include "Branching.h"
#include <set>

namespace mf::solver {

/// Divides the plans of a chain again and again, always the set with the lowest
/// bound, until no set can have a better plan than the incumbent.
class TreeSearch {
public:
  TreeSearch(OptionChain root, StepGraph &graph, const TickProblem &problem,
             Incumbent &incumbent);

  /// Searches until the end, or until the incumbent says that the search is
  /// over. Returns the bound in ticks: no plan of the root takes less.
  double run();
  /// Searches for good plans without dividing the root.
  void runRoot();
  int64_t getNumNodes() const { return numNodes; }
  int64_t getOptionsLeft() const { return optionsLeft; }

private:
  /// A set of plans.
  struct Node {
    double bound = 0;
    int64_t number = 0;
    std::vector<Decision> decisions;
    /// Samples of the mixture of the set from which this one was divided.
    std::vector<PlanSample> samples;
    PathCut cut;

    bool isRoot() const { return decisions.empty(); }
    bool operator<(const Node &other) const {
      return bound != other.bound ? bound < other.bound : number < other.number;
    }
  };
  OptionChain makeChain(const Node &node) const;
  void expand(Node node);
  bool isDone(const OptionChain &chain, const Node &node) const;
  void applyCuts(OptionChain &chain, Node &node);
  void addStageCuts(OptionChain &chain, llvm::ArrayRef<int64_t> durations);
  void addCriticalCuts(OptionChain &chain, const MixtureResult &game,
                       Node &node);
  void repair(OptionChain &chain, Node &node);
  void learn(const Node &node, double boundBefore);
  void searchLocally(OptionChain &chain, bool isRoot);
  bool searchDeep(OptionChain &chain, const Node &node, int64_t mostChoices);
  MixtureResult play(OptionChain &chain, Node &node);
  bool isRefused(const OptionChain &chain, const Node &node,
                 const Decision &decision);
  bool probe(OptionChain &chain, const Node &node);
  void tightenRoot(OptionChain &chain, MixtureResult &game, Node &node);
  MixtureResult tighten(OptionChain &chain, Node &node);
  void branch(OptionChain &chain, MixtureResult game, const Node &node);
  void addCut(PathCut cut);

  OptionChain root;
  StepGraph &graph;
  const TickProblem &problem;
  Incumbent &incumbent;
  std::set<Node> open;
  /// Critical paths of good plans.
  std::vector<PathCut> cuts, stageCuts;
  /// A good plan of the root, if one was found.
  OptionList rootPlan;
  DecisionHistory history;
  /// True during a search that is for good plans only, and not for a proof.
  bool isSketch = false;
  int64_t numNodes = 0, optionsLeft = 0;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_TREESEARCH_H
