//===- Descent.cpp - Minimization of the fit's loss -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Descent.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
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

Descent::Descent(FitModel &model, llvm::ArrayRef<FitParameter> parameters,
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

void Descent::fix(size_t parameter) {
  active[parameter] = false;
  move(parameter, parameters[parameter].start);
}

bool Descent::isAtBound(size_t parameter) const {
  return values[parameter] <= parameters[parameter].lower ||
         values[parameter] >= parameters[parameter].upper;
}

double Descent::getResidual(size_t observation) const {
  return predictions[observation] - observations[observation].logSeconds;
}

void Descent::setSpreads(std::vector<double> newSpreads) {
  spreads = std::move(newSpreads);
}

void Descent::move(size_t parameter, double value) {
  values[parameter] = value;
  model.setParameter(parameter, value);
  for (uint32_t observation : parameters[parameter].observations)
    predictions[observation] = model.predict(observation);
}

void Descent::moveAll(llvm::ArrayRef<size_t> which, llvm::ArrayRef<double> to) {
  for (auto [parameter, value] : llvm::zip(which, to)) {
    values[parameter] = value;
    model.setParameter(parameter, value);
  }
  for (size_t i = 0; i < observations.size(); ++i)
    predictions[i] = model.predict(i);
}

void Descent::moveTo(llvm::ArrayRef<double> to) {
  moveAll(llvm::to_vector(llvm::seq<size_t>(0, parameters.size())), to);
}

void Descent::restart() {
  moveTo(llvm::map_to_vector(parameters, [](const FitParameter &parameter) {
    return parameter.start;
  }));
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Returns the cost that depends on one number: that of its observations and
/// that of its offset.
double Descent::getCostOf(const FitParameter &parameter, size_t index) const {
  double cost = 0;
  for (uint32_t i : parameter.observations)
    cost += observations[i].weight * getLoss(getResidual(i) / spreads[i]);
  const double offset =
      (values[index] - parameter.start) / (parameter.belief * beliefScale);
  return cost + offset * offset / 2;
}

double Descent::getLossOfMove(size_t parameter, double change) {
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

double Descent::getCost() const {
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

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Returns the best place of one number while the others stay, among places far
/// away on both sides, and by how much it lowers the cost.
std::pair<double, double> Descent::findBest(size_t index) {
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

void Descent::scan() {
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

/// Returns the derivatives of the logarithms of times with respect to those of
/// the numbers.
Eigen::MatrixXd Descent::getJacobian(const std::vector<size_t> &of) {
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
Descent::Slopes Descent::getSlopes(bool withBounds) {
  Slopes slopes;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (active[i])
      slopes.moving.push_back(i);
  const Eigen::MatrixXd jacobian = getJacobian(slopes.moving);
  Eigen::VectorXd factors(jacobian.rows()), residuals(jacobian.rows());
  for (Eigen::Index i = 0; i < jacobian.rows(); ++i) {
    const double scaled = getResidual(i) / spreads[i];
    factors(i) =
        observations[i].weight * getFactor(scaled) / (spreads[i] * spreads[i]);
    residuals(i) = getResidual(i);
  }
  const Eigen::MatrixXd weighted = factors.asDiagonal() * jacobian;
  // Eigen's blocked product would take longer to compile than all fits to run.
  slopes.hessian = jacobian.transpose().lazyProduct(weighted);
  slopes.gradient = weighted.transpose() * residuals;
  for (const auto &[column, index] : llvm::enumerate(slopes.moving)) {
    const FitParameter &parameter = parameters[index];
    const double belief = parameter.belief * beliefScale;
    slopes.hessian(static_cast<Eigen::Index>(column),
                   static_cast<Eigen::Index>(column)) += 1 / (belief * belief);
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

/// Takes a step if that lowers the cost. Returns whether it did.
bool Descent::step(const Slopes &slopes, double damping) {
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

void Descent::minimize() {
  constexpr int maximumSteps = 60;
  constexpr double largestDamping = 1e9, smallestDamping = 1e-9,
                   dampingFactor = 5, relevant = 1e-10;
  double damping = 1e-3;
  for (int i = 0; i < maximumSteps; ++i) {
    const double cost = getCost();
    const Slopes slopes = getSlopes(/*withBounds=*/true);
    if (slopes.moving.empty())
      return;
    while (!step(slopes, damping)) {
      damping *= dampingFactor;
      if (damping > largestDamping)
        return;
    }
    damping = std::max(damping / dampingFactor, smallestDamping);
    if (cost - getCost() <= relevant * (1 + cost))
      return;
  }
}

std::vector<double> Descent::getDeviations() {
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

} // namespace mf::calibration
