//===- LocalSearch.h - Better plans near good ones --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_LOCALSEARCH_H
#define MF_LIB_PLAN_SOLVER_LOCALSEARCH_H

#include "DepthSearch.h"
#include "Incumbent.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace mf::solver {

/// Searches for better plans near good ones. Offers all plans that it sees.
class LocalSearch {
public:
  LocalSearch(OptionChain &chain, StepGraph &graph, const TickProblem &problem,
              Incumbent &incumbent)
      : chain(chain), graph(graph), problem(problem), incumbent(incumbent) {}

  /// Rounds durations that belong to no plan to those of the nearest plans, and
  /// continues from the best of these along its longest paths.
  void roundOff(llvm::ArrayRef<double> center, int64_t rounds) {
    // The shares of the way from the best plan to the center at which plans are
    // tried.
    constexpr double ways[] = {0, .15, .3, .5, .75};
    if (chain.isEmpty())
      return;
    tryAround(center);
    bool goesOn = best.ticks < std::numeric_limits<int64_t>::max();
    for (int64_t round = 0; goesOn && round < rounds; ++round) {
      goesOn = false;
      for (double way : ways) {
        std::vector<double> between = getBestDurations();
        for (size_t number = 0; number < between.size(); ++number)
          between[number] += way * (center[number] - between[number]);
        goesOn |= tryAround(between);
        if (goesOn)
          break;
      }
    }
  }

  /// Searches for the best plans that differ from the best known one in a few
  /// stages.
  void changeParts() {
    size_t stages = chain.getStages().size();
    if (best.options.empty())
      return;
    bool goesOn = true;
    while (goesOn) {
      goesOn = false;
      for (size_t distance = 1; distance < stages; ++distance)
        for (size_t stage = 0; stage + distance < stages; ++stage) {
          if (incumbent.isOver() || chain.isEmpty())
            return;
          goesOn |= tryPart({stage, stage + distance});
        }
      for (size_t stage = 0; stage + 2 < stages && !incumbent.isOver(); ++stage)
        goesOn |= tryPart({stage, stage + 1, stage + 2});
    }
  }

  const LocalPlan &getBest() const { return best; }

private:
  void offer(OptionList options) {
    int64_t ticks = incumbent.offer(chain.getStages(), options);
    if (ticks < best.ticks)
      best = {std::move(options), ticks};
  }

  /// Returns true if a better plan was found.
  bool tryAround(llvm::ArrayRef<double> center) {
    // The distances by which a duration may move for its gain, and the
    // softnesses of the path from which the gain is computed, as fractions of
    // the step's time.
    constexpr double reaches[] = {.02, .05, .1, .2, .4, .8, 1.6, 3.2};
    constexpr double softnesses[] = {1e-4, 1e-3, 5e-3, 2e-2};
    double mean = std::accumulate(center.begin(), center.end(), 0.0) /
                  static_cast<double>(center.size());
    auto runs =
        static_cast<double>(problem.get().schedule.pipeline.microBatches);
    if (mean <= 0)
      return false;
    int64_t known = best.ticks;
    std::vector<int64_t> whole(center.begin(), center.end());
    auto time = static_cast<double>(graph.getMakespan(whole));
    for (double softness : softnesses) {
      if (incumbent.isOver())
        return false;
      PathCut cut = graph.getSoftCut(center, std::max(1.0, softness * time));
      for (double reach : reaches)
        offer(chain.getNearest(cut, {center, runs / (reach * mean)}));
    }
    return best.ticks < known;
  }

  /// Tries all plans that differ only in the stages of a part.
  bool tryPart(llvm::ArrayRef<size_t> part) {
    constexpr int64_t mostChoices = 100;
    OptionChain near = chain;
    for (size_t stage = 0; stage < best.options.size(); ++stage)
      if (!llvm::is_contained(part, stage))
        near.keepOnly(stage, best.options[stage]);
    near.clean();
    std::vector<int64_t> durations =
        getDurations(chain.getStages(), best.options, problem);
    PathCut cut = graph.getCriticalCut(durations);
    near.eliminate(cut, static_cast<double>(best.ticks) - 0.5);
    if (near.isEmpty())
      return false;
    DepthSearch search(near, graph, problem, incumbent, {cut});
    std::optional<LocalPlan> better =
        search.findBetter(best.ticks, mostChoices);
    if (!better)
      return false;
    best = std::move(*better);
    return true;
  }

  std::vector<double> getBestDurations() const {
    std::vector<int64_t> whole =
        getDurations(chain.getStages(), best.options, problem);
    return {whole.begin(), whole.end()};
  }

  OptionChain &chain;
  StepGraph &graph;
  const TickProblem &problem;
  Incumbent &incumbent;
  LocalPlan best;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_LOCALSEARCH_H
