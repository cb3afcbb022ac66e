//===- Observations.h - Observed costs from a profile -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Groups the rows of a profile into launches and transfers whose costs a target
// predicts. Equal ones form one observation.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_CALIBRATION_OBSERVATIONS_H
#define MF_PERF_CALIBRATION_OBSERVATIONS_H

#include "mf/Perf/Calibration/Profile.h"
#include "mf/Program/Signatures/Collective.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include <variant>

namespace mf::calibration {

/// Collectives of the same size, as defined by target::Topology::getCollective,
/// between the same ranks, or messages between two ranks.
struct ObservedTransfer {
  /// The kind of a collective. Empty for a message.
  std::optional<CollectiveKind> collective;
  int64_t bytes = 0;
  std::vector<int64_t> ranks;
  /// The share of its time in which kernels ran.
  double besideKernels = 0;
};

/// Rows that launched the same kernel on operands of the same shapes.
struct ObservedLaunch {
  const KernelSignature *signature = nullptr;
  KernelSpec spec;
  /// The exchange beside which the kernel ran for this share of its time.
  std::optional<ObservedTransfer> beside = std::nullopt;
  double besideExchange = 0;
};

/// The location of a set of times, without outliers.
struct RobustMean {
  /// The mean of the logarithms of the times.
  double logSeconds = 0;
  /// The standard error of the mean; 0 for a single time.
  double error = 0;
  int64_t outliers = 0;
};

/// Equal launches or transfers with their measured times.
struct Observation {
  /// The kind under which the observation is printed: a kernel's kind,
  /// "all_gather", "message" and so on.
  std::string kind;
  std::variant<ObservedLaunch, ObservedTransfer> what;
  /// The logarithm of the time in seconds of each row.
  std::vector<double> logSeconds;
  RobustMean location;
};

/// The observations of a profile, and the rows that form none.
struct Observations {
  /// All observations, in the order of the profile.
  std::vector<Observation> all;
  /// The number of rows whose type no kernel's record names, by type.
  std::map<std::string, int64_t> unknownTypes;
  /// The number of rows whose operands or groups do not identify what ran, by
  /// type.
  std::map<std::string, int64_t> unclear;
  /// The number of rows left out because they belong to the first of several
  /// steps.
  int64_t warmUpRows = 0;
  /// The number of rows left out because other exchanges may have shared their
  /// links, by kind.
  std::map<std::string, int64_t> sharedLinks;
};

/// Returns the mean of the values within 3.5 standard deviations of the median,
/// where the standard deviation is estimated by the median absolute deviation.
/// At least one value counts.
RobustMean locate(llvm::ArrayRef<double> logSeconds);

/// Groups the rows of a profile.
Observations observe(const Profile &profile);

} // namespace mf::calibration

#endif // MF_PERF_CALIBRATION_OBSERVATIONS_H
