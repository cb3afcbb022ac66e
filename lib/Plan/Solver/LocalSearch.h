//===- LocalSearch.h - Better plans near good ones ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_LOCALSEARCH_H
#define MF_LIB_PLAN_SOLVER_LOCALSEARCH_H

#include "Incumbent.h"

namespace mf::solver {

/// Searches for better plans near good ones. Offers all plans that it sees.
class LocalSearch {
public:
  LocalSearch(OptionChain &chain, StepGraph &graph, const TickProblem &problem,
              Incumbent &incumbent)
      : chain(chain), graph(graph), problem(problem), incumbent(incumbent) {}

  /// Rounds durations that belong to no plan to those of the nearest plans, and
  /// continues from the best of these along its longest paths.
  void roundOff(llvm::ArrayRef<double> center, int64_t rounds);
  /// Searches for the best plans that differ from the best known one in a few
  /// stages.
  void changeParts();

  const LocalPlan &getBest() const { return best; }

private:
  void offer(OptionList options);
  bool tryAround(llvm::ArrayRef<double> center);
  bool tryPart(llvm::ArrayRef<size_t> part);
  std::vector<double> getBestDurations() const;

  OptionChain &chain;
  StepGraph &graph;
  const TickProblem &problem;
  Incumbent &incumbent;
  LocalPlan best;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_LOCALSEARCH_H
