//===- PathMixture.cpp - The best mixture of paths ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PathMixture.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace mf::solver {

namespace {

/// Plans with a smaller share are left out of the mixture.
constexpr double leastShare = 1e-3;

PathCut mix(const PathCut &one, const PathCut &other, double share) {
  PathCut mixed = one;
  for (size_t number = 0; number < mixed.counts.size(); ++number)
    mixed.counts[number] +=
        share * (other.counts[number] - mixed.counts[number]);
  mixed.transfers += share * (other.transfers - mixed.transfers);
  return mixed;
}

class PathMixture {
public:
  PathMixture(OptionChain &chain, StepGraph &graph, const TickProblem &problem,
              Incumbent &incumbent, MixtureStart start, ShareRule rule)
      : chain(chain), graph(graph), problem(problem), incumbent(incumbent),
        rule(rule) {
    result.samples = std::move(start.samples);
    result.cut = std::move(start.cut);
  }

  MixtureResult run(int64_t rounds) {
    if (!chain.isEmpty()) {
      setAverage();
      if (!result.cut.counts.empty())
        result.bound = chain.getLeast(result.cut);
    }
    for (int64_t round = 0; round < rounds && !isDone(); ++round)
      playRound(round);
    if (chain.isEmpty())
      result.bound = std::max(result.bound, incumbent.getLimit());
    return std::move(result);
  }

private:
  /// Sets the average to that of the samples, or to the plan with the least
  /// work.
  void setAverage() {
    if (result.samples.empty()) {
      PathCut all;
      all.counts.assign(problem.getNumDurations(), 1);
      result.samples.push_back({{}, 1});
      chain.getLeast(all, &result.samples.back().options);
    }
    double total = 0;
    for (const PlanSample &sample : result.samples)
      total += sample.share;
    result.average.assign(problem.getNumDurations(), 0);
    for (PlanSample &sample : result.samples) {
      sample.share /= total;
      std::vector<double> durations = getWholeDurations(sample.options);
      for (size_t number = 0; number < durations.size(); ++number)
        result.average[number] += sample.share * durations[number];
    }
  }

  void playRound(int64_t round) {
    // The softness of the maximum in the first round, as a fraction of the
    // step's time, and the rate at which it decreases with the number of the
    // round.
    const double firstSoftness = rule == ShareRule::Searched ? 5e-3 : 3e-3;
    const double sharpening = rule == ShareRule::Searched ? 0.5 : 0.1;
    constexpr int64_t eliminateEvery = 8;
    std::vector<int64_t> whole(result.average.begin(), result.average.end());
    auto time = static_cast<double>(graph.getMakespan(whole));
    double softness =
        std::max(1.0, firstSoftness * time /
                          (1 + sharpening * static_cast<double>(round)));
    PathCut cut = graph.getSoftCut(result.average, softness);
    OptionList answer;
    double bound = chain.getLeast(cut, &answer);
    if (rule == ShareRule::Searched)
      mixIn(cut);
    if (bound > result.bound) {
      result.bound = bound;
      result.cut = cut;
    }
    if (isDone())
      return;
    int64_t known = incumbent.getTicks();
    incumbent.offer(chain.getStages(), answer);
    add(std::move(answer), round, softness);
    if (incumbent.getTicks() < known ||
        (round % eliminateEvery == eliminateEvery - 1 &&
         result.bound > eliminated)) {
      eliminated = result.bound;
      // If no cut has improved on the bound with which the set began, the last
      // cut is used.
      chain.eliminate(result.cut.counts.empty() ? cut : result.cut,
                      incumbent.getLimit());
    }
  }

  /// Moves the best cut towards another one if that improves it.
  void mixIn(const PathCut &cut) {
    constexpr double least = 0.01, most = 0.6;
    if (result.cut.counts.empty())
      return;
    PathCut mixed = mix(result.cut, cut, mixShare);
    double bound = chain.getLeast(mixed);
    bool isBetter = bound > result.bound;
    mixShare = std::clamp(mixShare * (isBetter ? 1.5 : 0.7), least, most);
    if (!isBetter)
      return;
    result.bound = bound;
    result.cut = std::move(mixed);
  }

  std::vector<double> getMoved(llvm::ArrayRef<double> direction,
                               double share) const {
    std::vector<double> moved = result.average;
    for (size_t number = 0; number < moved.size(); ++number)
      moved[number] += share * direction[number];
    return moved;
  }

  /// Returns the share, near the last one, with the least soft maximum.
  double searchShare(llvm::ArrayRef<double> direction, double softness) {
    double bestValue = std::numeric_limits<double>::infinity(), bestShare = 0;
    for (double factor : {0.5, 1.0, 2.0}) {
      double share = std::min(1.0, lastShare * factor);
      double value =
          graph.getSoftMakespan(getMoved(direction, share), softness);
      if (value >= bestValue)
        continue;
      bestValue = value;
      bestShare = share;
    }
    lastShare = std::max(bestShare, leastShare);
    return bestShare;
  }

  /// Adds a plan to the mixture: as far as the soft maximum decreases, or by an
  /// amount that shrinks in every round.
  void add(OptionList answer, int64_t round, double softness) {
    std::vector<double> direction = getWholeDurations(answer);
    for (size_t number = 0; number < direction.size(); ++number)
      direction[number] -= result.average[number];
    double share = rule == ShareRule::Searched
                       ? searchShare(direction, softness)
                       : 2 / (static_cast<double>(round) + 2);
    result.average = getMoved(direction, share);
    if (rule == ShareRule::Shrinking)
      return;
    for (PlanSample &sample : result.samples)
      sample.share *= 1 - share;
    result.samples.push_back({std::move(answer), share});
  }

  std::vector<double> getWholeDurations(const OptionList &options) const {
    std::vector<int64_t> whole =
        getDurations(chain.getStages(), options, problem);
    return {whole.begin(), whole.end()};
  }
  bool isDone() const {
    return chain.isEmpty() || result.bound >= incumbent.getLimit() ||
           incumbent.isOver();
  }

  OptionChain &chain;
  StepGraph &graph;
  const TickProblem &problem;
  Incumbent &incumbent;
  ShareRule rule;
  MixtureResult result;
  /// The bound with which options were removed last.
  double eliminated = 0;
  double lastShare = 0.5, mixShare = 0.3;
};

} // namespace

MixtureResult mixPaths(OptionChain &chain, StepGraph &graph,
                       const TickProblem &problem, Incumbent &incumbent,
                       MixtureStart start, int64_t rounds, ShareRule rule) {
  return PathMixture(chain, graph, problem, incumbent, std::move(start), rule)
      .run(rounds);
}

} // namespace mf::solver
