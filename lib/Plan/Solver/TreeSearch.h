//===- TreeSearch.h - Branch and bound over sets of plans -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_TREESEARCH_H
#define MF_LIB_PLAN_SOLVER_TREESEARCH_H

#include "PathMixture.h"
#include <map>
#include <set>
#include <tuple>

namespace mf::solver {

/// A decision that divides the options of a stage into two halves, by a number
/// that each option has.
struct Decision {
  size_t stage = 0;
  /// The number of the feature, as for getFeature.
  size_t feature = 0;
  double threshold = 0;
  bool isAtMost = true;

  bool allows(const StageOptions &options, int32_t option) const;
};

/// Returns a feature of an option. Features are the layers of the stage, those
/// of its chunks, those of its chunks by kind, its durations, and the index of
/// the option.
double getFeature(const StageOptions &options, int32_t option, size_t feature);
size_t getNumFeatures(const StageOptions &options);

/// The gains of bounds after decisions of each sort.
class DecisionHistory {
public:
  /// Starts a history for chunks with this mean number of layers.
  explicit DecisionHistory(double meanLayers) : meanLayers(meanLayers) {}

  /// Adds a gain, as a fraction of the desired bound.
  void add(const Decision &decision, bool isLayers, double gain);
  /// Returns the mean gain. Without data, chunks with more layers than most are
  /// expected to gain most.
  double getGain(const Decision &decision, bool isLayers) const;

private:
  struct Gains {
    double sum = 0;
    int64_t count = 0;
  };
  /// Stages are similar, so decisions are distinguished by feature, threshold
  /// and half only.
  using Sort = std::tuple<size_t, int64_t, bool>;
  static Sort getSort(const Decision &decision, bool isLayers);
  double meanLayers;
  std::map<Sort, Gains> gains;
};

/// Returns whether a feature is a number of layers.
bool isLayerFeature(const StageOptions &options, size_t feature);

/// Returns the decision in which the plans of a mixture differ most, measured
/// along its cut, and with which bounds have risen most. Returns nothing if
/// each stage has one option.
std::optional<Decision> chooseDecision(const OptionChain &chain,
                                       const MixtureResult &game,
                                       const DecisionHistory &history);

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
