//===- TargetModel.h - Times that a target predicts -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_CALIBRATION_TARGETMODEL_H
#define MF_LIB_PERF_CALIBRATION_TARGETMODEL_H

#include "mf/Perf/Calibration/LogFit.h"
#include "mf/Perf/Calibration/Observations.h"
#include "mf/Perf/Target/KernelCost.h"
#include "mf/Perf/Target/Topology.h"

namespace mf::calibration {

/// A target with variable numbers, and its predictions for observations.
class TargetModel : public FitModel {
public:
  /// `predictSeconds` must succeed for all observations, which must outlive the
  /// model. Then it succeeds with any numbers, because it only fails if the
  /// target lacks a rate or a network.
  TargetModel(target::Target start, const target::Compilation &compilation,
              llvm::ArrayRef<Observation> observations);
  TargetModel(const TargetModel &) = delete;
  TargetModel &operator=(const TargetModel &) = delete;

  /// Returns the numbers that are fitted.
  llvm::ArrayRef<FitParameter> getParameters() const { return parameters; }
  /// Returns the paths of the numbers.
  llvm::ArrayRef<std::string> getPaths() const { return paths; }

  void setParameter(size_t parameter, double logValue) override;
  double predict(size_t observation) const override;

  /// Sets a number to an exact value.
  void assign(size_t parameter, double value) { *numbers[parameter] = value; }
  double getNumber(size_t parameter) const { return *numbers[parameter]; }

  const target::Target &getTarget() const { return target; }

private:
  void findDependents(size_t parameter);

  target::Target target;
  target::Compilation compilation;
  llvm::ArrayRef<Observation> observations;
  std::optional<target::Topology> topology;
  std::vector<std::string> paths;
  std::vector<double *> numbers;
  std::vector<FitParameter> parameters;
};

/// Returns the number of ranks of the largest group, or 0.
int64_t countRanks(llvm::ArrayRef<Observation> observations);

/// Returns the time that a target predicts. Fails if the target has no rate for
/// the kernel's kind or does not join the ranks. `topology` may be null if
/// there are no transfers.
llvm::Expected<double> predictSeconds(const target::Target &target,
                                      const target::Topology *topology,
                                      const target::Compilation &compilation,
                                      const Observation &observation);

} // namespace mf::calibration

#endif // MF_LIB_PERF_CALIBRATION_TARGETMODEL_H
