//===- Summary.cpp - Summaries of stages and of their use -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Gaps.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include <algorithm>

namespace mf::timeline {

static double divide(double a, double b) { return b > 0 ? a / b : 0; }

StageSummary summarizeStage(const StepTimeline &timeline,
                            const StageTimeline &stage) {
  StageSummary summary;
  for (const Gap &gap : findGaps(timeline, stage)) {
    const double seconds = gap.end - gap.start;
    switch (gap.cause) {
    case GapCause::Communication:
      summary.exposedCommunication += seconds;
      break;
    case GapCause::Copy:
      summary.stall += seconds;
      break;
    case GapCause::Bubble:
      summary.bubble += seconds;
      break;
    }
  }
  summary.busy = std::max(0.0, timeline.seconds - summary.exposedCommunication -
                                   summary.stall - summary.bubble);
  return summary;
}

StepSummary summarize(const StepTimeline &timeline) {
  StepSummary summary;
  double modelFlops = 0, hardwareFlops = 0;
  for (const StageTimeline &stage : timeline.stages) {
    summary.stages.push_back(summarizeStage(timeline, stage));
    modelFlops += static_cast<double>(stage.modelFlops);
    hardwareFlops += static_cast<double>(stage.hardwareFlops);
  }
  const double rankSeconds =
      static_cast<double>(timeline.numRanks) * timeline.seconds;
  summary.tokensPerSecondPerNpu =
      divide(static_cast<double>(timeline.tokens), rankSeconds);
  // All ranks of a stage do the same, and all stages have the same number of
  // ranks.
  const double stagePeak = timeline.peakFlopsPerSecond * timeline.seconds *
                           static_cast<double>(timeline.stages.size());
  summary.modelFlopsUtilization = divide(modelFlops, stagePeak);
  summary.hardwareFlopsUtilization = divide(hardwareFlops, stagePeak);
  return summary;
}

} // namespace mf::timeline
