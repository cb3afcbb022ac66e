//===- LocalSearch.cpp - Better plans near good ones ----------------------===//

#include "LocalSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

namespace mf::plan {

LocalResult searchNearby(OptionChain &chain, StepGraph &graph,
                         const TickProblem &problem, Incumbent &incumbent,
                         llvm::ArrayRef<double> center, int64_t rounds) {
  // By how much a duration may move for what it saves, and how soft the path
  // is that says what it saves: of the time of the step.
  constexpr double reaches[] = {.02, .05, .1, .2, .4, .8, 1.6, 3.2};
  constexpr double softnesses[] = {1e-4, 1e-3, 5e-3, 2e-2};
  LocalResult best;
  best.ticks = std::numeric_limits<int64_t>::max();
  double mean = 0;
  for (double duration : center)
    mean += duration / static_cast<double>(center.size());
  if (chain.isEmpty() || mean <= 0)
    return best;
  auto runs = static_cast<double>(
      problem.get().schedule.pipeline.microBatches);
  std::vector<double> around = center.vec();
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<int64_t> whole(around.begin(), around.end());
    double time = static_cast<double>(graph.getMakespan(whole));
    bool isBetter = false;
    for (double softness : softnesses) {
      if (incumbent.isOver())
        return best;
      PathCut cut = graph.getSoftCut(around, std::max(1.0, softness * time));
      for (double reach : reaches) {
        OptionList options =
            chain.getNearest(cut, {around, runs / (reach * mean)});
        int64_t ticks = incumbent.offer(chain.getStages(), options);
        if (ticks >= best.ticks)
          continue;
        best = {options, ticks};
        isBetter = true;
      }
    }
    if (!isBetter)
      break;
    std::vector<int64_t> durations =
        getDurations(chain.getStages(), best.options, problem);
    around.assign(durations.begin(), durations.end());
  }
  return best;
}

} // namespace mf::plan
