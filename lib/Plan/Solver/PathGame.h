//===- PathGame.h - The best mixture of paths -------------------*- C++ -*-===//
//
// The best bound that path cuts can give is the value of a game: one side mixes
// paths, the other answers with the plan that is shortest on them. The plan's
// side moves a mixture of its answers towards each new one (Frank and Wolfe),
// and the path's side answers with the slope of a soft maximum of all paths at
// the mean of that mixture, which sharpens round by round. Every answer of the
// one side is a cut and bounds all plans, every answer of the other is a plan.
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

/// Results of another game to start from; either may be empty.
struct GameStart {
  std::vector<PlanSample> samples;
  PathCut cut;
};

struct GameResult {
  double bound = 0;
  /// The cut of that bound.
  PathCut cut;
  /// The mean of the mixture, by duration.
  std::vector<double> average;
  std::vector<PlanSample> samples;
};

/// How far the mixture moves towards an answer.
enum class StepRule : uint8_t {
  /// As far as the soft maximum falls: the bounds are good soon.
  Searched,
  /// Less from round to round: the mean is amid all good plans, from where
  /// whole
  /// plans are near.
  Shrinking
};

/// Plays on the plans of a chain, from a mixture of some of these. Removes
/// options that cannot be in a better plan, and offers all plans that it sees.
GameResult playPathGame(OptionChain &chain, StepGraph &graph,
                        const TickProblem &problem, Incumbent &incumbent,
                        GameStart start, int64_t rounds,
                        StepRule rule = StepRule::Searched);

} // namespace mf::plan

#endif // MF_LIB_PLAN_PATHGAME_H
