//===- Summary.cpp - How stages spend a step, and how well ----------------===//

#include "mf/Timeline/StepTimeline.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <iterator>

namespace mf::timeline {

namespace {

struct Interval {
  double start = 0;
  double end = 0;
};

/// In order, and disjoint.
using Intervals = std::vector<Interval>;

void append(Intervals &intervals, Interval next) {
  if (next.end <= next.start)
    return;
  if (!intervals.empty() && next.start <= intervals.back().end)
    intervals.back().end = std::max(intervals.back().end, next.end);
  else
    intervals.push_back(next);
}

Intervals unite(const Intervals &a, const Intervals &b) {
  Intervals result;
  auto left = a.begin(), right = b.begin();
  while (left != a.end() || right != b.end()) {
    const bool takesLeft =
        right == b.end() || (left != a.end() && left->start <= right->start);
    append(result, takesLeft ? *left++ : *right++);
  }
  return result;
}

double getTotal(const Intervals &intervals) {
  double total = 0;
  for (const Interval &interval : intervals)
    total += interval.end - interval.start;
  return total;
}

enum class Use : uint8_t { Compute, Communication, Copy };
constexpr Use allUses[] = {Use::Compute, Use::Communication, Use::Copy};

Use getUse(Category category) {
  switch (category) {
  case Category::Kernel:
    return Use::Compute;
  case Category::CopyToHost:
  case Category::CopyToDevice:
    return Use::Copy;
  case Category::Collective:
  case Category::Send:
  case Category::Receive:
  case Category::Held:
    return Use::Communication;
  }
  llvm_unreachable("unknown category");
}

/// When a stream does something of that use, within the step.
Intervals collect(const StepTimeline &timeline, const StreamTimeline &stream,
                  Use use) {
  Intervals intervals;
  for (const Span &span : stream.spans)
    if (getUse(timeline.activities[span.activity].category) == use)
      append(intervals,
             {std::max(span.start, 0.0), std::min(span.end, timeline.seconds)});
  return intervals;
}

double divide(double a, double b) { return b > 0 ? a / b : 0; }

} // namespace

StageSummary summarizeStage(const StepTimeline &timeline,
                            const StageTimeline &stage) {
  // What each use takes beyond those before it.
  Intervals taken;
  double seconds[std::size(allUses)] = {};
  double total = 0;
  for (Use use : allUses) {
    for (const StreamTimeline &stream : stage.streams)
      taken = unite(taken, collect(timeline, stream, use));
    const double before = total;
    total = getTotal(taken);
    seconds[static_cast<size_t>(use)] = std::max(total - before, 0.0);
  }
  StageSummary summary;
  summary.busy = seconds[static_cast<size_t>(Use::Compute)];
  summary.exposedCommunication =
      seconds[static_cast<size_t>(Use::Communication)];
  summary.stall = seconds[static_cast<size_t>(Use::Copy)];
  summary.bubble = std::max(timeline.seconds - total, 0.0);
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
  // All ranks of a stage do the same, and stages have as many of them.
  const double stagePeak = timeline.peakFlopsPerSecond * timeline.seconds *
                           static_cast<double>(timeline.stages.size());
  summary.modelFlopsUtilization = divide(modelFlops, stagePeak);
  summary.hardwareFlopsUtilization = divide(hardwareFlops, stagePeak);
  return summary;
}

} // namespace mf::timeline
