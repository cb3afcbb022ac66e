//===- LogFit.cpp - Fits positive numbers to measured times ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Calibration/LogFit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace mf::calibration {

/// Residuals above this number of spreads count linearly. If residuals are
/// normal, errors are about 5 % larger than with squares.
static constexpr double linearFrom = 1.5;

static double getLoss(double residual) {
  return linearFrom * linearFrom *
         (std::sqrt(1 + residual * residual / (linearFrom * linearFrom)) - 1);
}

/// Returns the factor with which the square of a residual has the slope of the
/// loss.
static double getFactor(double residual) {
  return 1 / std::sqrt(1 + residual * residual / (linearFrom * linearFrom));
}

namespace {

/// The numbers during the minimization of the sum of weight * loss(residual /
/// spread) plus the sum of (offset / belief)^2 / 2. The loss of r is r^2 / 2
/// near 0 and grows like |r| further out, so that half of the observations
/// cannot outweigh the other half.
class Descent {
public:
  Descent(FitModel &model, llvm::ArrayRef<FitParameter> parameters,
          llvm::ArrayRef<FitObservation> observations)
      : model(model), parameters(parameters), observations(observations),
        predictions(observations.size(), 0), spreads(observations.size(), 1) {
    for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
      active.push_back(!parameter.observations.empty());
      values.push_back(parameter.start);
      model.setParameter(index, parameter.start);
    }
    for (size_t i = 0; i < observations.size(); ++i)
      predictions[i] = model.predict(i);
  }

  /// Keeps a number at its start from now on.
  void fix(size_t parameter) {
    active[parameter] = false;
    move(parameter, parameters[parameter].start);
  }
  /// Moves all numbers to values, or to their starts.
  void moveTo(llvm::ArrayRef<double> to) {
    moveAll(llvm::to_vector(llvm::seq<size_t>(0, parameters.size())), to);
  }
  void restart() {
    moveTo(llvm::map_to_vector(parameters, [](const FitParameter &parameter) {
      return parameter.start;
    }));
  }
  bool isActive(size_t parameter) const { return active[parameter]; }
  bool isAtBound(size_t parameter) const {
    return values[parameter] <= parameters[parameter].lower ||
           values[parameter] >= parameters[parameter].upper;
  }
  double getValue(size_t parameter) const { return values[parameter]; }
  double getResidual(size_t observation) const {
    return predictions[observation] - observations[observation].logSeconds;
  }

  /// Multiplies all beliefs.
  void setBeliefScale(double scale) { beliefScale = scale; }
  /// Sets the standard deviation of each observation's residual.
  void setSpreads(std::vector<double> newSpreads) {
    spreads = std::move(newSpreads);
  }

  double getCost() const {
    double cost = 0;
    for (size_t i = 0; i < observations.size(); ++i)
      cost += observations[i].weight * getLoss(getResidual(i) / spreads[i]);
    for (const auto &[index, parameter] : llvm::enumerate(parameters)) {
      const double offset =
          (values[index] - parameter.start) / (parameter.belief * beliefScale);
      cost += offset * offset / 2;
    }
    return cost;
  }

  /// Returns the increase of the loss if a single number is changed.
  double getLossOfMove(size_t parameter, double change) {
    const double from = values[parameter];
    auto getFit = [&] {
      double cost = 0;
      for (uint32_t i : parameters[parameter].observations)
        cost += observations[i].weight * getLoss(getResidual(i) / spreads[i]);
      return cost;
    };
    const double before = getFit();
    move(parameter, from + change);
    const double after = getFit();
    move(parameter, from);
    return after - before;
  }

  /// Moves each number in turn to the best of places far around it. Times are
  /// the maximum of several terms, and a term that is not the largest has no
  /// slope.
  void scan() {
    // The parameter that explains the most moves first, so that others need not
    // move.
    std::vector<std::pair<double, size_t>> order;
    for (size_t index = 0; index < parameters.size(); ++index)
      if (active[index])
        order.emplace_back(-findBest(index).second, index);
    llvm::sort(order);
    for (const auto &[gain, index] : order)
      if (gain < 0)
        move(index, findBest(index).first);
  }

  /// Minimizes the cost by Levenberg and Marquardt's method on the reweighted
  /// squares.
  void minimize() {
    constexpr int maximumIterations = 60;
    constexpr double largestDamping = 1e9, smallestDamping = 1e-9,
                     dampingFactor = 5, relevant = 1e-10;
    double damping = 1e-3;
    for (int i = 0; i < maximumIterations; ++i) {
      const double cost = getCost();
      const Slopes slopes = getSlopes(/*withBounds=*/true);
      if (slopes.moving.empty())
        return;
      while (!move(slopes, damping)) {
        damping *= dampingFactor;
        if (damping > largestDamping)
          return;
      }
      damping = std::max(damping / dampingFactor, smallestDamping);
      if (cost - getCost() <= relevant * (1 + cost))
        return;
    }
  }

  /// Returns the standard errors of the active numbers, and 0 for others.
  std::vector<double> getDeviations() {
    std::vector<double> deviations(parameters.size(), 0);
    const Slopes slopes = getSlopes(/*withBounds=*/false);
    if (slopes.moving.empty())
      return deviations;
    const auto factors = slopes.hessian.ldlt();
    for (const auto &[column, index] : llvm::enumerate(slopes.moving)) {
      const Eigen::VectorXd covariances = factors.solve(Eigen::VectorXd::Unit(
          slopes.hessian.rows(), static_cast<Eigen::Index>(column)));
      deviations[index] = std::sqrt(
          std::max(0.0, covariances(static_cast<Eigen::Index>(column))));
    }
    return deviations;
  }

private:
  struct Slopes {
    /// The active numbers that can move.
    std::vector<size_t> moving;
    Eigen::MatrixXd hessian;
    Eigen::VectorXd gradient;
  };

  void move(size_t parameter, double value) {
    values[parameter] = value;
    model.setParameter(parameter, value);
    for (uint32_t observation : parameters[parameter].observations)
      predictions[observation] = model.predict(observation);
  }

  /// Returns the best place of one number while the others stay, among places
  /// far away on both sides, and by how much it lowers the cost.
  std::pair<double, double> findBest(size_t index) {
    // The places differ by factors of up to 55.
    constexpr int steps = 20;
    constexpr double width = 0.2, smallest = 1e-3;
    const FitParameter &parameter = parameters[index];
    const double from = values[index], cost = getCostOf(parameter, index);
    double best = from, bestCost = cost;
    auto attempt = [&](double value) {
      const double to = std::clamp(value, parameter.lower, parameter.upper);
      move(index, to);
      const double newCost = getCostOf(parameter, index);
      if (newCost < bestCost) {
        best = to;
        bestCost = newCost;
      }
    };
    for (int i = -steps; i <= steps; ++i)
      attempt(from + i * width);
    // Without this refinement, the number that happens to be nearest to one of
    // these places would win.
    double side = width / 2;
    while (side > smallest) {
      for (double to : {best + side, best - side})
        attempt(to);
      side /= 2;
    }
    move(index, from);
    return {best, cost - bestCost};
  }

  void moveAll(llvm::ArrayRef<size_t> which, llvm::ArrayRef<double> to) {
    for (auto [parameter, value] : llvm::zip(which, to)) {
      values[parameter] = value;
      model.setParameter(parameter, value);
    }
    for (size_t i = 0; i < observations.size(); ++i)
      predictions[i] = model.predict(i);
  }

  /// Returns the cost that depends on one number: that of its observations and
  /// that of its offset.
  double getCostOf(const FitParameter &parameter, size_t index) const {
    double cost = 0;
    for (uint32_t i : parameter.observations)
      cost += observations[i].weight * getLoss(getResidual(i) / spreads[i]);
    const double offset =
        (values[index] - parameter.start) / (parameter.belief * beliefScale);
    return cost + offset * offset / 2;
  }

  /// Returns the derivatives of the logarithms of times with respect to those
  /// of the numbers.
  Eigen::MatrixXd getJacobian(const std::vector<size_t> &of) {
    constexpr double width = 1e-5;
    Eigen::MatrixXd jacobian =
        Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(observations.size()),
                              static_cast<Eigen::Index>(of.size()));
    for (const auto &[column, index] : llvm::enumerate(of)) {
      const double value = values[index];
      for (double side : {1.0, -1.0}) {
        model.setParameter(index, value + side * width);
        for (uint32_t i : parameters[index].observations)
          jacobian(i, static_cast<Eigen::Index>(column)) +=
              side * model.predict(i) / (2 * width);
      }
      model.setParameter(index, value);
    }
    return jacobian;
  }

  /// Returns the derivatives of the cost. With bounds, numbers that would be
  /// pushed out of their ranges do not move.
  Slopes getSlopes(bool withBounds) {
    Slopes slopes;
    for (size_t i = 0; i < parameters.size(); ++i)
      if (active[i])
        slopes.moving.push_back(i);
    const Eigen::MatrixXd jacobian = getJacobian(slopes.moving);
    Eigen::VectorXd factors(jacobian.rows()), residuals(jacobian.rows());
    for (Eigen::Index i = 0; i < jacobian.rows(); ++i) {
      const double scaled = getResidual(i) / spreads[i];
      factors(i) = observations[i].weight * getFactor(scaled) /
                   (spreads[i] * spreads[i]);
      residuals(i) = getResidual(i);
    }
    const Eigen::MatrixXd weighted = factors.asDiagonal() * jacobian;
    // Eigen's blocked product would take longer to compile than all fits to
    // run.
    slopes.hessian = jacobian.transpose().lazyProduct(weighted);
    slopes.gradient = weighted.transpose() * residuals;
    for (const auto &[column, index] : llvm::enumerate(slopes.moving)) {
      const FitParameter &parameter = parameters[index];
      const double belief = parameter.belief * beliefScale;
      slopes.hessian(static_cast<Eigen::Index>(column),
                     static_cast<Eigen::Index>(column)) +=
          1 / (belief * belief);
      slopes.gradient(static_cast<Eigen::Index>(column)) +=
          (values[index] - parameter.start) / (belief * belief);
    }
    if (!withBounds)
      return slopes;
    for (const auto &[column, index] : llvm::enumerate(slopes.moving)) {
      const bool pushesUp =
          slopes.gradient(static_cast<Eigen::Index>(column)) < 0;
      const FitParameter &parameter = parameters[index];
      if (pushesUp ? values[index] < parameter.upper
                   : values[index] > parameter.lower)
        continue;
      const double diagonal = slopes.hessian(static_cast<Eigen::Index>(column),
                                             static_cast<Eigen::Index>(column));
      slopes.hessian.row(static_cast<Eigen::Index>(column)).setZero();
      slopes.hessian.col(static_cast<Eigen::Index>(column)).setZero();
      slopes.hessian(static_cast<Eigen::Index>(column),
                     static_cast<Eigen::Index>(column)) = diagonal;
      slopes.gradient(static_cast<Eigen::Index>(column)) = 0;
    }
    return slopes;
  }

  /// Moves the values if that lowers the cost. Returns whether it did.
  bool move(const Slopes &slopes, double damping) {
    Eigen::MatrixXd damped = slopes.hessian;
    damped.diagonal() *= 1 + damping;
    const Eigen::VectorXd change = damped.ldlt().solve(-slopes.gradient);
    // Farther than this no slope can be trusted.
    constexpr double farthest = 1;
    const double cost = getCost();
    std::vector<double> before, after;
    for (const auto &[column, index] : llvm::enumerate(slopes.moving)) {
      before.push_back(values[index]);
      after.push_back(std::clamp(
          values[index] + std::clamp(change(static_cast<Eigen::Index>(column)),
                                     -farthest, farthest),
          parameters[index].lower, parameters[index].upper));
    }
    moveAll(slopes.moving, after);
    if (getCost() < cost)
      return true;
    moveAll(slopes.moving, before);
    return false;
  }

  FitModel &model;
  llvm::ArrayRef<FitParameter> parameters;
  llvm::ArrayRef<FitObservation> observations;
  std::vector<bool> active;
  std::vector<double> values, predictions, spreads;
  double beliefScale = 1;
};

} // namespace

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

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

  FitResult run() {
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

private:
  /// Approaches the optimum from any start, with little weight on beliefs, so
  /// that the spread of the residuals shows how well the model fits.
  void approach() {
    constexpr double littleBelief = 5, relevant = 1e-6;
    constexpr int maximumRounds = 6;
    descent.setBeliefScale(littleBelief);
    descent.setSpreads(
        std::vector<double>(observations.size(), smallestMisfit));
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

  /// Estimates the spreads from the median of each set's residuals, which is
  /// robust to outliers.
  std::vector<double> estimateSpreads() const {
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
      spreads.push_back(
          std::hypot(misfits[observation.set], observation.error));
    return spreads;
  }

  /// Returns the number of active parameters on which only observations of the
  /// set depend.
  size_t countOwnParameters(uint32_t set) const {
    size_t count = 0;
    for (const auto &[index, parameter] : llvm::enumerate(parameters))
      count += descent.isActive(index) &&
               llvm::all_of(parameter.observations, [&](uint32_t i) {
                 return observations[i].set == set;
               });
    return count;
  }

  /// Fixes numbers about which no more is known than before. Returns false if
  /// there are none. If several numbers are only determined together, they keep
  /// their priors. Therefore those that are almost unknown are fixed at once,
  /// others one by one.
  bool fixUndetermined(llvm::ArrayRef<double> deviations) {
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
  void preferStart() {
    std::vector<double> optimum;
    for (size_t index = 0; index < parameters.size(); ++index)
      optimum.push_back(descent.getValue(index));
    const double cost = descent.getCost();
    descent.restart();
    if (descent.getCost() - cost > lossOfError)
      descent.moveTo(optimum);
  }

  llvm::ArrayRef<FitParameter> parameters;
  llvm::ArrayRef<FitObservation> observations;
  Descent descent;
};

} // namespace

FitResult fitLogarithms(FitModel &model,
                        llvm::ArrayRef<FitParameter> parameters,
                        llvm::ArrayRef<FitObservation> observations) {
  return LogFit(model, parameters, observations).run();
}

} // namespace mf::calibration
