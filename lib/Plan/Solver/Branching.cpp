//===- Branching.cpp - Splits a set of plans in two -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Branching.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace mf::solver {

static size_t getNumLayerFeatures(const StageOptions &options) {
  const OptionComposition &first = options.compositions.front();
  return 1 + first.layers.size() + first.layers.size() * first.totals.size();
}

bool isLayerFeature(const StageOptions &options, size_t feature) {
  return feature < getNumLayerFeatures(options);
}

size_t getNumFeatures(const StageOptions &options) {
  return getNumLayerFeatures(options) + options.numDurations + 1;
}

double getFeature(const StageOptions &options, int32_t option, size_t feature) {
  const OptionComposition &composition =
      options.compositions[options.compositionOf[option]];
  if (feature == 0)
    return static_cast<double>(composition.getNumLayers());
  --feature;
  size_t chunks = composition.layers.size();
  if (feature < chunks)
    return static_cast<double>(
        std::accumulate(composition.layers[feature].begin(),
                        composition.layers[feature].end(), int64_t(0)));
  feature -= chunks;
  size_t kinds = composition.totals.size();
  if (feature < chunks * kinds)
    return static_cast<double>(
        composition.layers[feature / kinds][feature % kinds]);
  feature -= chunks * kinds;
  if (feature < options.numDurations)
    return options.getDurations(option)[feature];
  return option;
}

bool Decision::allows(const StageOptions &options, int32_t option) const {
  return (getFeature(options, option, feature) <= threshold) == isAtMost;
}

DecisionHistory::Sort DecisionHistory::getSort(const Decision &decision,
                                               bool isLayers) {
  return {decision.feature,
          isLayers ? static_cast<int64_t>(decision.threshold) : -1,
          decision.isAtMost};
}

void DecisionHistory::add(const Decision &decision, bool isLayers,
                          double gain) {
  Gains &known = gains[getSort(decision, isLayers)];
  known.sum += gain;
  ++known.count;
}

double DecisionHistory::getGain(const Decision &decision, bool isLayers) const {
  constexpr double hopeOfMany = 0.03, hopeOfOthers = 0.002, least = 1e-4;
  auto known = gains.find(getSort(decision, isLayers));
  if (known == gains.end()) {
    bool isMany = isLayers && decision.feature > 0 && !decision.isAtMost &&
                  decision.threshold >= meanLayers;
    return isMany ? hopeOfMany : hopeOfOthers;
  }
  return least + known->second.sum / static_cast<double>(known->second.count);
}

namespace {

/// A stage's options in a mixture of plans, with their shares.
struct StageMixture {
  std::vector<std::pair<int32_t, double>> shares;

  StageMixture(const MixtureResult &game, size_t stage) {
    std::map<int32_t, double> sums;
    double total = 0;
    for (const PlanSample &sample : game.samples) {
      sums[sample.options[stage]] += sample.share;
      total += sample.share;
    }
    for (auto [option, share] : sums)
      shares.emplace_back(option, share / total);
  }
};

/// Returns the distance between both halves, multiplied by the weight of the
/// smaller one.
double getDistance(const StageOptions &options, const StageMixture &mixture,
                   const MixtureResult &game, const Decision &decision) {
  std::vector<double> low(options.numDurations, 0), high = low;
  double lowShare = 0;
  for (auto [option, share] : mixture.shares) {
    bool isLow = decision.allows(options, option);
    lowShare += isLow ? share : 0;
    for (auto [number, duration] :
         llvm::enumerate(options.getDurations(option)))
      (isLow ? low : high)[number] += share * duration;
  }
  double highShare = 1 - lowShare;
  constexpr double least = 1e-6;
  if (lowShare < least || highShare < least)
    return 0;
  double distance = 0;
  for (size_t number = 0; number < low.size(); ++number)
    distance += game.cut.counts[options.durationNumbers[number]] *
                std::abs(low[number] / lowShare - high[number] / highShare);
  return distance * std::min(lowShare, highShare);
}

/// Chooses a decision if the mixture defines none: a stage with several
/// options, split by the first feature in which they differ.
std::optional<Decision> chooseAny(const OptionChain &chain) {
  for (auto [index, options] : llvm::enumerate(chain.getStages())) {
    llvm::ArrayRef<int32_t> active = chain.getOptions(index);
    if (active.size() < 2)
      continue;
    for (size_t feature = 0; feature < getNumFeatures(options); ++feature) {
      double least = getFeature(options, active.front(), feature), most = least;
      for (int32_t option : active) {
        least = std::min(least, getFeature(options, option, feature));
        most = std::max(most, getFeature(options, option, feature));
      }
      if (least < most)
        return Decision{index, feature, std::floor((least + most) / 2)};
    }
  }
  return std::nullopt;
}

} // namespace

/// Returns the thresholds that may split the mixture: all numbers of layers, or
/// the mean.
static std::vector<double> getThresholds(const StageOptions &options,
                                         const StageMixture &mixture,
                                         size_t feature) {
  double mean = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  for (auto [option, share] : mixture.shares) {
    double value = getFeature(options, option, feature);
    mean += share * value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (!isLayerFeature(options, feature))
    return {std::floor(mean)};
  std::vector<double> thresholds;
  for (auto layers = static_cast<int64_t>(least);
       layers < static_cast<int64_t>(most); ++layers)
    thresholds.push_back(static_cast<double>(layers));
  return thresholds;
}

std::optional<Decision> chooseDecision(const OptionChain &chain,
                                       const MixtureResult &game,
                                       const DecisionHistory &history) {
  std::optional<Decision> best;
  double bestScore = 0;
  for (auto [index, options] : llvm::enumerate(chain.getStages())) {
    StageMixture mixture(game, index);
    if (mixture.shares.size() < 2)
      continue;
    for (size_t feature = 0; feature + 1 < getNumFeatures(options); ++feature) {
      bool isLayers = isLayerFeature(options, feature);
      // With a single kind of layers, the numbers of this kind equal those of
      // the chunk, which come first.
      size_t chunks = options.compositions.front().layers.size();
      if (isLayers && feature > chunks &&
          options.compositions.front().totals.size() == 1)
        continue;
      for (double threshold : getThresholds(options, mixture, feature)) {
        Decision low{index, feature, threshold, true}, high = low;
        high.isAtMost = false;
        double score = getDistance(options, mixture, game, low) *
                       history.getGain(low, isLayers) *
                       history.getGain(high, isLayers);
        if (score <= bestScore)
          continue;
        bestScore = score;
        best = low;
      }
    }
  }
  return best ? best : chooseAny(chain);
}

} // namespace mf::solver
