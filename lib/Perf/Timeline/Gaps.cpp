//===- Gaps.cpp - Times in which a stage does not compute -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Gaps.h"
#include "Intervals.h"
#include "mf/Perf/Timeline/StepTimeline.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace mf::timeline {

namespace {

using Times = Intervals<double>;

/// Returns the cause of a gap that a span represents; none for a kernel.
std::optional<GapCause> getCause(Category category) {
  switch (category) {
  case Category::Kernel:
    return std::nullopt;
  case Category::CopyToHost:
  case Category::CopyToDevice:
    return GapCause::Copy;
  case Category::Collective:
  case Category::Send:
  case Category::Receive:
    return GapCause::Communication;
  }
  llvm_unreachable("unknown category");
}

/// Returns `taken` and the times at which a stream of the stage does work of
/// the given cause.
Times addStreams(Times taken, const StepTimeline &timeline,
                 const StageTimeline &stage, std::optional<GapCause> cause) {
  for (const StreamTimeline &stream : stage.streams) {
    std::vector<Interval<double>> times;
    for (const Span &span : stream.spans)
      if (getCause(timeline.activities[span.activity].category) == cause)
        times.push_back(
            {std::max(span.start, 0.0), std::min(span.end, timeline.seconds)});
    taken = taken.unite(Times(std::move(times)));
  }
  return taken;
}

} // namespace

std::vector<Gap> findGaps(const StepTimeline &timeline,
                          const StageTimeline &stage) {
  std::vector<Gap> gaps;
  auto add = [&](const Times &times, GapCause cause) {
    std::vector<Gap> more, all;
    for (const Interval<double> &interval : times.get())
      more.push_back({interval.start, interval.end, cause});
    std::merge(gaps.begin(), gaps.end(), more.begin(), more.end(),
               std::back_inserter(all),
               [](const Gap &a, const Gap &b) { return a.start < b.start; });
    gaps = std::move(all);
  };
  Times taken = addStreams({}, timeline, stage, std::nullopt);
  for (GapCause cause : {GapCause::Communication, GapCause::Copy}) {
    Times more = addStreams(taken, timeline, stage, cause);
    add(more.subtract(taken), cause);
    taken = std::move(more);
  }
  add(Times({{0, timeline.seconds}}).subtract(taken), GapCause::Bubble);
  return gaps;
}

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
