//===- PathGame.cpp - The best mixture of paths ---------------------------===//

#include "PathGame.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::plan {

GameResult playPathGame(OptionChain &chain, StepGraph &graph,
                        const TickProblem &problem, Incumbent &incumbent,
                        std::vector<double> average,
                        const GameOptions &options) {
  /// Of the step's time: how soft the maximum is at first, and by how much it
  /// sharpens.
  constexpr double firstSoftness = 3e-3, sharpening = 0.1;
  constexpr int64_t eliminateEvery = 8;
  GameResult result;
  result.average = std::move(average);
  double eliminated = 0;
  for (int64_t round = 0; round < options.rounds; ++round) {
    if (chain.isEmpty() || incumbent.isOver())
      break;
    std::vector<int64_t> whole(result.average.begin(), result.average.end());
    double time = static_cast<double>(graph.getMakespan(whole));
    double softness =
        std::max(1.0, firstSoftness * time /
                          (1 + sharpening * (options.inertia +
                                               static_cast<double>(round))));
    PathCut cut = graph.getSoftCut(result.average, softness);
    OptionList answer;
    double bound = chain.getLeast(cut, &answer);
    if (bound > result.bound) {
      result.bound = bound;
      result.cut = std::move(cut);
    }
    if (result.bound >= incumbent.getLimit())
      break;
    int64_t known = incumbent.getTicks();
    incumbent.offer(chain.getStages(), answer);
    double share = 2 / (static_cast<double>(round) + 2 + options.inertia);
    std::vector<int64_t> durations =
        getDurations(chain.getStages(), answer, problem);
    for (size_t number = 0; number < durations.size(); ++number)
      result.average[number] +=
          share * (static_cast<double>(durations[number]) -
                   result.average[number]);
    for (PlanSample &sample : result.samples)
      sample.share *= 1 - share;
    result.samples.push_back({std::move(answer), share});
    if (incumbent.getTicks() < known ||
        (round % eliminateEvery == eliminateEvery - 1 &&
         result.bound > eliminated)) {
      eliminated = result.bound;
      chain.eliminate(result.cut, incumbent.getLimit());
    }
  }
  if (chain.isEmpty())
    result.bound = std::max(result.bound, incumbent.getLimit());
  return result;
}

} // namespace mf::plan
