//===- StepLatency.h - Step time without device work ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_CALIBRATION_STEPLATENCY_H
#define MF_LIB_PERF_CALIBRATION_STEPLATENCY_H

#include "mf/Perf/Calibration/Profile.h"

namespace mf::calibration {

struct StepLatency {
  double seconds = 0;
  /// The standard error relative to the latency; 0 for a single step.
  double relativeError = 0;
  /// The number of steps whose median is taken.
  int64_t steps = 0;
};

/// Returns the part of a step in which no rank's device is busy or copies,
/// except after a communication, as the median over steps. A rank that waits
/// for another or for a network is not delayed by its host. With three or more
/// steps the first one is ignored. Without start times, it is the smallest free
/// time of any rank. Returns none if there is no step_trace_time.csv.
std::optional<StepLatency> findStepLatency(const Profile &profile);

} // namespace mf::calibration

#endif // MF_LIB_PERF_CALIBRATION_STEPLATENCY_H
