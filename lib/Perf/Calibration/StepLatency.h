//===- StepLatency.h - Time of a step outside of its work -------*- C++ -*-===//

#ifndef MF_LIB_CALIBRATION_STEPLATENCY_H
#define MF_LIB_CALIBRATION_STEPLATENCY_H

#include "mf/Perf/Calibration/Profile.h"

namespace mf::calibration {

struct StepLatency {
  double seconds = 0;
  /// Its standard error, relative to it; 0 for a single step.
  double relativeError = 0;
  /// The number of steps that the median is taken of.
  int64_t steps = 0;
};

/// The part of a step in which no rank's device is busy, other than the part
/// after a communication, as the median over steps: a rank that waits for
/// another or for a network is not held up by its host. With three steps or
/// more the first is left out. Without start times, it is the free time of the
/// rank that has the least. None if there is no step_trace_time.csv.
std::optional<StepLatency> findStepLatency(const Profile &profile);

} // namespace mf::calibration

#endif // MF_LIB_CALIBRATION_STEPLATENCY_H
