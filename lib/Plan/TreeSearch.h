//===- TreeSearch.h - Branch and bound over sets of plans -----*- C++ -*-===//

#ifndef MF_LIB_PLAN_TREESEARCH_H
#define MF_LIB_PLAN_TREESEARCH_H

#include "Branching.h"
#include <set>

namespace mf::plan {

/// Cuts the plans of a chain in two again and again, always the set with the
/// lowest bound, until no set can have a better plan than the incumbent.
class TreeSearch {
public:
  TreeSearch(OptionChain root, StepGraph &graph, const TickProblem &problem,
             Incumbent &incumbent);

  /// Until the end, or until the incumbent says that the search is over.
  /// Returns the bound in ticks: no plan of the root takes less.
  double run();
  /// Looks for good plans, without cutting in two.
  void runRoot();
  int64_t getNumNodes() const { return numNodes; }
  int64_t getOptionsLeft() const { return optionsLeft; }

private:
  /// A set of plans.
  struct Node {
    double bound = 0;
    int64_t number = 0;
    std::vector<Decision> decisions;
    std::vector<double> average;
    PathCut cut;

    bool operator<(const Node &other) const {
      return bound != other.bound ? bound < other.bound : number < other.number;
    }
  };
  Node makeRoot();
  OptionChain makeChain(const Node &node) const;
  void expand(Node node);
  void applyCuts(OptionChain &chain, double &bound);
  void addCut(PathCut cut);

  OptionChain root;
  StepGraph &graph;
  const TickProblem &problem;
  Incumbent &incumbent;
  std::set<Node> open;
  /// Critical paths of good plans.
  std::vector<PathCut> cuts;
  int64_t numNodes = 0, optionsLeft = 0;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_TREESEARCH_H
