//===- StrategySolver.h - Chooses strategies of nodes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PLAN_SOLVER_STRATEGYSOLVER_H
#define MF_PLAN_SOLVER_STRATEGYSOLVER_H

#include "mf/Plan/Solver/StrategyProblem.h"
#include <atomic>

namespace mf::solver {

/// Limits of a search for strategies.
struct StrategyOptions {
  /// The time limit in seconds.
  double timeLimit = 60;
  const std::atomic<bool> *stop = nullptr;
};

/// The result of a search for strategies.
struct StrategyResult {
  /// The strategy of each node. Empty if no feasible choice was found.
  std::vector<int64_t> choices;
  int64_t cost = 0;
  /// A lower bound on the cost of all feasible choices.
  int64_t bound = 0;
  /// True if the whole tree was searched: the choices are optimal or, if there
  /// are none, the problem is infeasible.
  bool isProven = false;
};

/// Computes bounds by moving costs between edges and nodes, and by prices of
/// memory. It then searches the whole tree and, if that takes too long, one
/// neighbourhood after another. Result and bound are deterministic if the
/// search ends before the time limit.
StrategyResult chooseStrategies(const StrategyProblem &problem,
                                const StrategyOptions &options);

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_STRATEGYSOLVER_H
