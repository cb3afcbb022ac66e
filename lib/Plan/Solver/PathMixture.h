//===- PathMixture.h - The best mixture of paths ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The best bound that path cuts can give is the value of a game: one player
// mixes paths, the other answers with the plan that is shortest on them. The
// player of plans moves a mixture of its answers towards each new one (Frank
// and Wolfe). The player of paths answers with the gradient of a soft maximum
// over all paths at the mean of that mixture, which is sharpened in every
// round. Every answer of the latter is a cut that bounds all plans, and every
// answer of the former is a plan.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SOLVER_PATHMIXTURE_H
#define MF_LIB_PLAN_SOLVER_PATHMIXTURE_H

#include "Incumbent.h"

namespace mf::solver {

/// A plan and its share of the mixture.
struct PlanSample {
  OptionList options;
  double share = 0;
};

/// Results of another game to start from; either may be empty.
struct MixtureStart {
  std::vector<PlanSample> samples;
  PathCut cut;
};

struct MixtureResult {
  double bound = 0;
  /// The cut of that bound.
  PathCut cut;
  /// The mean of the mixture, for each duration.
  std::vector<double> average;
  std::vector<PlanSample> samples;
};

/// How far the mixture moves towards an answer.
enum class ShareRule : uint8_t {
  /// As far as the soft maximum decreases. Bounds become good quickly.
  Searched,
  /// By a smaller amount in every round. The mean is central among all good
  /// plans, and whole plans are close to it.
  Shrinking
};

/// Plays the game on the plans of a chain, starting with a mixture of some of
/// them. Removes options that cannot be in a better plan, and offers all plans
/// that it sees.
MixtureResult mixPaths(OptionChain &chain, StepGraph &graph,
                       const TickProblem &problem, Incumbent &incumbent,
                       MixtureStart start, int64_t rounds,
                       ShareRule rule = ShareRule::Searched);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_PATHMIXTURE_H
