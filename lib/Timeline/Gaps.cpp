//===- Gaps.cpp - When a stage does not compute ---------------------------===//

#include "Gaps.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <iterator>
#include <optional>

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

/// What of `all` is not in `part`, which lies within it.
Intervals subtract(const Intervals &all, const Intervals &part) {
  Intervals result;
  auto hole = part.begin();
  for (Interval interval : all) {
    for (; hole != part.end() && hole->end <= interval.end; ++hole) {
      append(result, {interval.start, hole->start});
      interval.start = hole->end;
    }
    append(result, interval);
  }
  return result;
}

/// The cause that a span is of a gap; none for a kernel.
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
  case Category::Held:
    return GapCause::Communication;
  }
  llvm_unreachable("unknown category");
}

/// `taken`, and when a stream of the stage does something of that cause.
Intervals addStreams(Intervals taken, const StepTimeline &timeline,
                     const StageTimeline &stage,
                     std::optional<GapCause> cause) {
  for (const StreamTimeline &stream : stage.streams) {
    Intervals intervals;
    for (const Span &span : stream.spans)
      if (getCause(timeline.activities[span.activity].category) == cause)
        append(intervals, {std::max(span.start, 0.0),
                           std::min(span.end, timeline.seconds)});
    taken = unite(taken, intervals);
  }
  return taken;
}

} // namespace

std::vector<Gap> findGaps(const StepTimeline &timeline,
                          const StageTimeline &stage) {
  std::vector<Gap> gaps;
  auto add = [&](const Intervals &intervals, GapCause cause) {
    std::vector<Gap> more, all;
    for (const Interval &interval : intervals)
      more.push_back({interval.start, interval.end, cause});
    std::merge(gaps.begin(), gaps.end(), more.begin(), more.end(),
               std::back_inserter(all),
               [](const Gap &a, const Gap &b) { return a.start < b.start; });
    gaps = std::move(all);
  };
  Intervals taken = addStreams({}, timeline, stage, std::nullopt);
  for (GapCause cause : {GapCause::Communication, GapCause::Copy}) {
    Intervals more = addStreams(taken, timeline, stage, cause);
    add(subtract(more, taken), cause);
    taken = std::move(more);
  }
  Intervals step;
  append(step, {0, timeline.seconds});
  add(subtract(step, taken), GapCause::Bubble);
  return gaps;
}

} // namespace mf::timeline
