//===- ReportReader.h - Reads reports of steps in time --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_REPORTREADER_H
#define MF_LIB_PERF_TIMELINE_REPORTREADER_H

#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace mf::timeline {

/// The numbers of a stage in a report.
struct ReportedStage {
  StageSummary times;
  int64_t peakBytes = 0;
  std::map<std::string, double> secondsByKind;
};

/// The numbers of a step in a report.
struct ReportedStep {
  /// "simulated" or "executed".
  std::string source;
  double seconds = 0;
  double tokensPerSecondPerNpu = 0;
  /// The losses of the last step, by name. A simulation has none.
  std::map<std::string, double> losses;
  std::vector<ReportedStage> stages;
};

/// Returns the report's numbers for a timeline.
ReportedStep makeReportedStep(const StepTimeline &timeline);

/// Reads a file in the format of Writers.h. Members that are not needed may be
/// missing, and unknown ones are ignored. The error names the invalid member
/// and its place.
llvm::Expected<ReportedStep> readReport(llvm::StringRef path);

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_REPORTREADER_H
