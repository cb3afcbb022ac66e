//===- LogFit.h - Fits positive numbers to measured times -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Robust least squares on logarithms. It fits positive numbers, each with a
// prior around its start value, to measured times that depend on them. Numbers
// that the times do not determine keep their start values. This file does not
// depend on targets.
//
// Deterministic: it uses no random numbers, one thread and a fixed order of
// operations.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_CALIBRATION_LOGFIT_H
#define MF_PERF_CALIBRATION_LOGFIT_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace mf::calibration {

/// A number to be fitted. All fields are natural logarithms.
struct FitParameter {
  double start = 0;
  /// The standard deviation of the prior: 0.7 is a factor of 2.
  double belief = 0.7;
  double lower = -1e3;
  double upper = 1e3;
  /// Indices of the observations that may depend on this parameter.
  std::vector<uint32_t> observations;
};

/// A measured time.
struct FitObservation {
  double logSeconds = 0;
  /// The standard error of `logSeconds`.
  double error = 0;
  /// The weight relative to other observations; 1 on average.
  double weight = 1;
  /// The observations of one set share the spread of their deviations from the
  /// model.
  uint32_t set = 0;
};

/// The model whose parameters are fitted.
class FitModel {
public:
  virtual ~FitModel() = default;
  virtual void setParameter(size_t parameter, double logValue) = 0;
  /// Returns the logarithm of a time as the model predicts it.
  virtual double predict(size_t observation) const = 0;
};

/// How far the observations determine a fitted number.
enum class FitState : uint8_t {
  Fitted,
  /// The value was limited by the end of its range.
  AtBound,
  /// The observations add no information to the prior. The number keeps its
  /// start value.
  Undetermined,
  /// No observation depends on the number.
  Unused
};

/// The result for one number, as natural logarithms.
struct FittedParameter {
  double logValue = 0;
  /// The standard error of `logValue`.
  double deviation = 0;
  FitState state = FitState::Unused;
  /// True if a value that is larger (or smaller) by half of the prior's
  /// standard deviation would change times little, so that `logValue` is only a
  /// bound.
  bool isOpenAbove = false;
  bool isOpenBelow = false;
};

/// The result of a fit.
struct FitResult {
  std::vector<FittedParameter> parameters;
  /// For each observation, the predicted minus the measured logarithm.
  std::vector<double> residuals;
};

/// Fits the parameters. The model is left with the fitted values.
FitResult fitLogarithms(FitModel &model,
                        llvm::ArrayRef<FitParameter> parameters,
                        llvm::ArrayRef<FitObservation> observations);

} // namespace mf::calibration

#endif // MF_PERF_CALIBRATION_LOGFIT_H
