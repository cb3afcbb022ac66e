//===- Gaps.cpp - Times in which a stage does not compute -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Gaps.h"
#include "Intervals.h"
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

} // namespace mf::timeline
