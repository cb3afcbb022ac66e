//===- TreeSearch.h - Branch and bound over sets of plans -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_TREESEARCH_H
#define MF_LIB_PLAN_SOLVER_TREESEARCH_H

#include "Incumbent.h"

namespace mf::solver {

struct TreeResult {
  /// The bound in ticks: no plan of the root takes less.
  double bound = 0;
  int64_t nodes = 0, optionsLeft = 0;
};

/// Divides the plans of a chain again and again, always the set with the lowest
/// bound, until no set can have a better plan than the incumbent or the
/// incumbent says that the search is over.
TreeResult searchTree(OptionChain root, StepGraph &graph,
                      const TickProblem &problem, Incumbent &incumbent);

/// Searches for good plans without dividing the root.
void searchRoot(OptionChain root, StepGraph &graph, const TickProblem &problem,
                Incumbent &incumbent);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_TREESEARCH_H
