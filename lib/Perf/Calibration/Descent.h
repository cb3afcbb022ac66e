//===- Descent.h - Minimization of the fit's loss ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_CALIBRATION_DESCENT_H
#define MF_LIB_PERF_CALIBRATION_DESCENT_H

#include "mf/Perf/Calibration/LogFit.h"
#include <Eigen/Cholesky>

namespace mf::calibration {

/// The numbers during the minimization of the sum of weight * loss(residual /
/// spread) plus the sum of (offset / belief)^2 / 2. The loss of r is r^2 / 2
/// near 0 and grows like |r| further out, so that half of the observations
/// cannot outweigh the other half.
class Descent {
public:
  Descent(FitModel &model, llvm::ArrayRef<FitParameter> parameters,
          llvm::ArrayRef<FitObservation> observations);

  /// Keeps a number at its start from now on.
  void fix(size_t parameter);
  /// Moves all numbers to values, or to their starts.
  void moveTo(llvm::ArrayRef<double> to);
  void restart();
  bool isActive(size_t parameter) const { return active[parameter]; }
  bool isAtBound(size_t parameter) const;
  double getValue(size_t parameter) const { return values[parameter]; }
  double getResidual(size_t observation) const;

  /// Multiplies all beliefs.
  void setBeliefScale(double scale) { beliefScale = scale; }
  /// Sets the standard deviation of each observation's residual.
  void setSpreads(std::vector<double> spreads);

  double getCost() const;
  /// Returns the increase of the loss if a single number is changed.
  double getLossOfMove(size_t parameter, double change);
  /// Moves each number in turn to the best of places far around it. Times are
  /// the maximum of several terms, and a term that is not the largest has no
  /// slope.
  void scan();
  /// Minimizes the cost by Levenberg and Marquardt's method on the reweighted
  /// squares.
  void minimize();
  /// Returns the standard errors of the active numbers, and 0 for others.
  std::vector<double> getDeviations();

private:
  struct Slopes {
    /// The active numbers that can move.
    std::vector<size_t> moving;
    Eigen::MatrixXd hessian;
    Eigen::VectorXd gradient;
  };

  void move(size_t parameter, double value);
  std::pair<double, double> findBest(size_t index);
  void moveAll(llvm::ArrayRef<size_t> which, llvm::ArrayRef<double> to);
  double getCostOf(const FitParameter &parameter, size_t index) const;
  Eigen::MatrixXd getJacobian(const std::vector<size_t> &of);
  Slopes getSlopes(bool withBounds);
  bool step(const Slopes &slopes, double damping);

  FitModel &model;
  llvm::ArrayRef<FitParameter> parameters;
  llvm::ArrayRef<FitObservation> observations;
  std::vector<bool> active;
  std::vector<double> values, predictions, spreads;
  double beliefScale = 1;
};

} // namespace mf::calibration

#endif // MF_LIB_PERF_CALIBRATION_DESCENT_H
