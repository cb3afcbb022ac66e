//===- Clock.h - Times as traces and profiles write them ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Traces and profiles write microseconds with digits down to nanoseconds. All
// numbers are computed from whole nanoseconds, so that written times add up to
// the last digit.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TIMELINE_CLOCK_H
#define MF_LIB_PERF_TIMELINE_CLOCK_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::timeline {

using Nanoseconds = int64_t;

/// Rounds to the nearest nanosecond. `seconds` must be finite and less than 100
/// years.
Nanoseconds toNanoseconds(double seconds);

/// Prints microseconds without trailing zeros: "12.5".
void printMicroseconds(llvm::raw_ostream &os, Nanoseconds time);

/// Prints microseconds with three decimals: "12.500".
void printPaddedMicroseconds(llvm::raw_ostream &os, Nanoseconds time);

/// Prints milliseconds with six decimals.
void printPaddedMilliseconds(llvm::raw_ostream &os, Nanoseconds time);

/// Tells whether times are finite, no span or task ends before it begins, spans
/// of a stream follow one another, and their activities and tasks exist. The
/// error names the span.
llvm::Error checkTimes(const StepTimeline &timeline);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_CLOCK_H
