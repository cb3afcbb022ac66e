//===- StrategySolver.h - Chooses strategies of nodes ----------*- C++ -*-===//

#ifndef MF_PLAN_STRATEGYSOLVER_H
#define MF_PLAN_STRATEGYSOLVER_H

#include "mf/Plan/Solver/StrategyProblem.h"
#include <atomic>

namespace mf::plan {

struct StrategyOptions {
  /// Seconds.
  double timeLimit = 60;
  const std::atomic<bool> *stop = nullptr;
};

struct StrategyResult {
  /// By node; empty if no choices that fit were found.
  std::vector<int64_t> choices;
  int64_t cost = 0;
  /// No choices that fit cost less.
  int64_t bound = 0;
  /// The whole tree was searched: the choices are the best, or, if there are
  /// none, nothing fits.
  bool isProven = false;
};

/// Bounds by moving costs between edges and nodes, and by prices of memory;
/// then searches the whole tree, and, if that takes too long, one
/// neighbourhood after the other. Result and bound of a search that ends by
/// itself are the same every time.
StrategyResult chooseStrategies(const StrategyProblem &problem,
                                const StrategyOptions &options);

} // namespace mf::plan

#endif // MF_PLAN_STRATEGYSOLVER_H
