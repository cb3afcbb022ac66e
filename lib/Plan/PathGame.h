//===- PathGame.h - The best mixture of paths -----------------*- C++ -*-===//
//
// The best bound that path cuts can give is the value of a game: one side mixes
// paths, the other answers with the plan that is shortest on them. Both mix
// step by step: the plan's side takes an average of its answers (Frank and
// Wolfe), and the path's side all paths of that average, the longer the more,
// by a soft maximum that sharpens. Every mixture of paths is a cut and bounds
// all plans; every answer is a plan.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_PATHGAME_H
#define MF_LIB_PLAN_PATHGAME_H

#include "Incumbent.h"

namespace mf::plan {

/// A plan and its share of the mixture.
struct PlanSample {
  OptionList options;
  double share = 0;
};

struct GameOptions {
  int64_t rounds = 0;
  /// How many rounds the average counts for that it starts with.
  double inertia = 0;
};

struct GameResult {
  double bound = 0;
  /// The cut of that bound.
  PathCut cut;
  /// Of the mixture of plans, by duration.
  std::vector<double> average;
  std::vector<PlanSample> samples;
};

/// Plays on the plans of a chain, removes options that cannot be in a better
/// plan, and offers all plans that it sees.
GameResult playPathGame(OptionChain &chain, StepGraph &graph,
                        const TickProblem &problem, Incumbent &incumbent,
                        std::vector<double> average,
                        const GameOptions &options);

} // namespace mf::plan

#endif // MF_LIB_PLAN_PATHGAME_H
