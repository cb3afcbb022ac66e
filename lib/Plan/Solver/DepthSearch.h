//===- DepthSearch.h - Depth first, stage by stage ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses an option for one stage after another. Bounds the remaining stages by
// cuts and by the step with their least durations, whose longest path gives
// another cut.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_DEPTHSEARCH_H
#define MF_LIB_PLAN_SOLVER_DEPTHSEARCH_H

#include "Incumbent.h"

namespace mf::solver {

class DepthSearch {
public:
  /// Searches the plans of `chain`, which must not be empty.
  DepthSearch(OptionChain &chain, StepGraph &graph, const TickProblem &problem,
              Incumbent &incumbent, llvm::ArrayRef<PathCut> cuts);

  /// Searches all plans. Returns false if that takes more choices than
  /// `mostChoices` or the search is over.
  bool run(int64_t mostChoices);
  /// Returns the best plan of fewer than `ticks` ticks that is found with at
  /// most the given number of choices.
  std::optional<LocalPlan> findBetter(int64_t ticks, int64_t mostChoices);
  int64_t getNumChoices() const { return numChoices; }
  /// Returns the cuts that have excluded choices.
  std::vector<PathCut> takeCuts();

private:
  struct PricedCut {
    PathCut cut;
    ChainPrices prices;
    int64_t uses = 0;
    /// Costs of the options chosen so far, by stage.
    std::vector<double> spent;
  };
  /// An option of the next stage.
  struct Choice {
    double bound = 0;
    int32_t option = 0, to = 0;
  };
  void searchAll(int64_t mostChoices);
  void addCut(PathCut cut, size_t depth);
  double getSpent(const PathCut &cut, size_t depth) const;
  void search(size_t depth, int32_t node);
  std::vector<Choice> getChoices(size_t depth, int32_t node);
  bool isRefused(size_t depth, int32_t node);
  void setDurations(size_t depth, llvm::ArrayRef<double> durations);

  OptionChain &chain;
  StepGraph &graph;
  Incumbent &incumbent;
  std::vector<PricedCut> cuts;
  /// For each stage, the least value of each of its durations.
  std::vector<std::vector<double>> least;
  /// The durations of the chosen options, and the least ones of the remaining
  /// stages.
  std::vector<int64_t> durations;
  OptionList chosen;
  /// Only plans of fewer ticks than this are searched for.
  double limit = 0;
  std::optional<LocalPlan> found;
  int64_t numChoices = 0, mostChoices = 0;
  bool isBroken = false;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_DEPTHSEARCH_H
