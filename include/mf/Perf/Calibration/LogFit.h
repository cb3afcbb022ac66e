//===- LogFit.h - Fits positive numbers to measured times -------*- C++ -*-===//
//
// Robust least squares between logarithms: of numbers that are fitted, each
// believed to be near its start value, and of times that follow from them.
// Numbers that the times do not determine keep their start values. This part
// knows nothing of targets.
//
// Deterministic: no random numbers, one thread, the same order of operations.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CALIBRATION_LOGFIT_H
#define MF_CALIBRATION_LOGFIT_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace mf::calibration {

/// A number that is fitted. All are natural logarithms.
struct FitParameter {
  double start = 0;
  /// The standard deviation of the prior belief: 0.7 for a factor of 2.
  double belief = 0.7;
  double lower = -1e3;
  double upper = 1e3;
  /// Indices of the observations that may depend on this parameter.
  std::vector<uint32_t> observations;
};

/// A time that was measured.
struct FitObservation {
  double logSeconds = 0;
  /// The standard error of that.
  double error = 0;
  /// How much it counts beside others; 1 on average.
  double weight = 1;
  /// Observations of one set are off from the model by errors of one spread.
  uint32_t set = 0;
};

/// The model whose parameters are fitted.
class FitModel {
public:
  virtual ~FitModel() = default;
  virtual void setParameter(size_t parameter, double logValue) = 0;
  /// The logarithm of a time.
  virtual double predict(size_t observation) const = 0;
};

enum class FitState : uint8_t {
  Fitted,
  /// Against the end of its range.
  AtBound,
  /// The observations say no more about it than the prior belief did; it keeps
  /// its start value.
  Undetermined,
  /// No observation depends on it.
  Unused
};

struct FittedParameter {
  double logValue = 0;
  /// Its standard error.
  double deviation = 0;
  FitState state = FitState::Unused;
  /// Times would be much the same if it were larger, or smaller, by half of the
  /// prior belief's standard deviation: the value is only a bound.
  bool isOpenAbove = false;
  bool isOpenBelow = false;
};

struct FitResult {
  std::vector<FittedParameter> parameters;
  /// Predicted minus measured.
  std::vector<double> residuals;
};

/// Leaves the model with the numbers that were found.
FitResult fitLogarithms(FitModel &model,
                        llvm::ArrayRef<FitParameter> parameters,
                        llvm::ArrayRef<FitObservation> observations);

} // namespace mf::calibration

#endif // MF_CALIBRATION_LOGFIT_H
