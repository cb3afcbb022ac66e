//===- Observations.h - Observed costs from a profile -----------*- C++ -*-===//
//
// The rows of a profile as launches and transfers whose cost a target predicts,
// those that are alike together.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CALIBRATION_OBSERVATIONS_H
#define MF_CALIBRATION_OBSERVATIONS_H

#include "mf/Perf/Calibration/Profile.h"
#include "mf/Program/Signatures/Collective.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include <variant>

namespace mf::calibration {

/// Rows that launched the same kernel on operands of the same shapes.
struct ObservedLaunch {
  const KernelSignature *signature = nullptr;
  KernelSpec spec;
};

/// Collectives of the same bytes, as target::Topology::getCollective takes
/// them, between the same ranks; or messages, of two ranks.
struct ObservedTransfer {
  /// The kind of a collective; none for a message.
  std::optional<CollectiveKind> collective;
  int64_t bytes = 0;
  std::vector<int64_t> ranks;
};

/// Where times of something lie, outliers left out.
struct RobustMean {
  /// The mean of their logarithms.
  double logSeconds = 0;
  /// Its standard error; 0 for a single time.
  double error = 0;
  int64_t outliers = 0;
};

struct Observation {
  /// Observations of one kind are printed together: a kernel's kind, or
  /// "all_gather", "message".
  std::string kind;
  std::variant<ObservedLaunch, ObservedTransfer> what;
  /// Logarithms of the seconds that each of its rows took.
  std::vector<double> logSeconds;
  RobustMean location;
};

struct Observations {
  /// All observations, in the order of the profile.
  std::vector<Observation> all;
  /// Rows of types that no kernel's record names, by type.
  std::map<std::string, int64_t> unknownTypes;
  /// Rows whose operands or groups do not say what ran, by type.
  std::map<std::string, int64_t> unclear;
  /// Rows left out because they are of a first step of several.
  int64_t warmUpRows = 0;
};

/// The mean of the values within 3.5 deviations of the median, both as medians
/// see them; never empty.
RobustMean locate(llvm::ArrayRef<double> logSeconds);

Observations observe(const Profile &profile);

} // namespace mf::calibration

#endif // MF_CALIBRATION_OBSERVATIONS_H
