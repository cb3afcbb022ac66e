//===- LogFit.cpp - Fits positive numbers to measured times ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Calibration/LogFit.h"
#include "Descent.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

namespace mf::calibration {

/// The bounds of the misfit of a model, as a standard deviation. No model of a
/// device is more exact than the smaller one, whatever its residuals are. With
/// the larger one, times that are far off still count more than the prior.
static constexpr double smallestMisfit = 0.01, largestMisfit = 0.25;

/// The increase of the loss that one standard error causes.
static constexpr double lossOfError = 0.5;

namespace {

class LogFit {
public:
  LogFit(FitModel &model, llvm::ArrayRef<FitParameter> parameters,
         llvm::ArrayRef<FitObservation> observations)
      : parameters(parameters), observations(observations),
        descent(model, parameters, observations) {}

  FitResult run();

private:
  void approach();
  std::vector<double> estimateSpreads() const;
  size_t countOwnParameters(uint32_t set) const;
  bool fixUndetermined(llvm::ArrayRef<double> deviations);
  void preferStart();

  llvm::ArrayRef<FitParameter> parameters;
  llvm::ArrayRef<FitObservation> observations;
  Descent descent;
};

} // namespace

/// Approaches the optimum from any start, with little weight on beliefs, so
/// that the spread of the residuals shows how well the model fits.
void LogFit::approach() {
  constexpr double littleBelief = 5, relevant = 1e-6;
  constexpr int maximumRounds = 6;
  descent.setBeliefScale(littleBelief);
  descent.setSpreads(std::vector<double>(observations.size(), smallestMisfit));
  double cost = descent.getCost();
  for (int round = 0; round < maximumRounds; ++round) {
    descent.scan();
    descent.minimize();
    const double newCost = descent.getCost();
    if (cost - newCost <= relevant * (1 + cost))
      return;
    cost = newCost;
  }
}

/// Returns the number of active parameters on which only observations of the
/// set depend.
size_t LogFit::countOwnParameters(uint32_t set) const {
  size_t count = 0;
  for (const auto &[index, parameter] : llvm::enumerate(parameters))
    count += descent.isActive(index) &&
             llvm::all_of(parameter.observations, [&](uint32_t i) {
               return observations[i].set == set;
             });
  return count;
}

/// Estimates the spreads from the median of each set's residuals, which is
/// robust to outliers.
std::vector<double> LogFit::estimateSpreads() const {
  constexpr double deviationOverMedian = 1.4826;
  uint32_t numSets = 0;
  for (const FitObservation &observation : observations)
    numSets = std::max(numSets, observation.set + 1);
  std::vector<std::vector<double>> sizes(numSets);
  for (size_t i = 0; i < observations.size(); ++i)
    sizes[observations[i].set].push_back(std::abs(descent.getResidual(i)));
  std::vector<double> misfits(numSets, smallestMisfit);
  for (uint32_t set = 0; set < numSets; ++set) {
    std::vector<double> &all = sizes[set];
    const size_t own = countOwnParameters(set);
    if (all.empty())
      continue;
    const auto middle = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    // Even with enough parameters, the remaining error counts as misfit.
    const size_t size = all.size(), free = size > own ? size - own : size;
    misfits[set] = std::clamp(
        deviationOverMedian * *middle *
            std::sqrt(static_cast<double>(size) / static_cast<double>(free)),
        smallestMisfit, largestMisfit);
  }
  std::vector<double> spreads;
  for (const FitObservation &observation : observations)
    spreads.push_back(std::hypot(misfits[observation.set], observation.error));
  return spreads;
}

/// Fixes numbers about which no more is known than before. Returns false if
/// there are none. If several numbers are only determined together, they keep
/// their priors. Therefore those that are almost unknown are fixed at once,
/// others one by one.
bool LogFit::fixUndetermined(llvm::ArrayRef<double> deviations) {
  constexpr double unknown = 0.97, hardlyKnown = 0.8, farAway = 2;
  bool hasFixed = false;
  size_t worst = parameters.size();
  double worstRatio = hardlyKnown;
  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    // A parameter that times have moved far away is known not to have its old
    // value, even if they do not determine its new one.
    if (!descent.isActive(index) ||
        std::abs(descent.getValue(index) - parameter.start) >
            farAway * parameter.belief)
      continue;
    const double ratio = deviations[index] / parameter.belief;
    if (ratio > unknown) {
      descent.fix(index);
      hasFixed = true;
    } else if (ratio > worstRatio) {
      worst = index;
      worstRatio = ratio;
    }
  }
  if (!hasFixed && worst < parameters.size()) {
    descent.fix(worst);
    hasFixed = true;
  }
  return hasFixed;
}

/// Returns all numbers to their starts if the observations hardly fit worse
/// there: within one standard error the optimum is no better known than they.
void LogFit::preferStart() {
  std::vector<double> optimum;
  for (size_t index = 0; index < parameters.size(); ++index)
    optimum.push_back(descent.getValue(index));
  const double cost = descent.getCost();
  descent.restart();
  if (descent.getCost() - cost > lossOfError)
    descent.moveTo(optimum);
}

FitResult LogFit::run() {
  approach();
  descent.setBeliefScale(1);
  std::vector<double> deviations;
  do {
    descent.setSpreads(estimateSpreads());
    descent.minimize();
    deviations = descent.getDeviations();
  } while (fixUndetermined(deviations));
  // Parameters that were fixed may have left others on the wrong term.
  constexpr int lastRounds = 3;
  for (int round = 0; round < lastRounds; ++round) {
    descent.scan();
    descent.minimize();
    descent.setSpreads(estimateSpreads());
  }
  descent.minimize();
  preferStart();
  deviations = descent.getDeviations();

  FitResult result;
  for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
    FittedParameter fitted;
    fitted.logValue = descent.getValue(index);
    fitted.deviation = deviations[index];
    fitted.state = parameter.observations.empty() ? FitState::Unused
                   : !descent.isActive(index)     ? FitState::Undetermined
                   : descent.isAtBound(index)     ? FitState::AtBound
                                                  : FitState::Fitted;
    if (fitted.state == FitState::Fitted) {
      fitted.isOpenAbove =
          descent.getLossOfMove(index, parameter.belief / 2) < lossOfError;
      fitted.isOpenBelow =
          descent.getLossOfMove(index, -parameter.belief / 2) < lossOfError;
    }
    result.parameters.push_back(fitted);
  }
  for (size_t i = 0; i < observations.size(); ++i)
    result.residuals.push_back(descent.getResidual(i));
  return result;
}

FitResult fitLogarithms(FitModel &model,
                        llvm::ArrayRef<FitParameter> parameters,
                        llvm::ArrayRef<FitObservation> observations) {
  return LogFit(model, parameters, observations).run();
}

} // namespace mf::calibration
