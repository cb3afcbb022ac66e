//===- Intervals.cpp - When something goes on -----------------------------===//

#include "Intervals.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <utility>

namespace mf::timeline {

Intervals::Intervals(std::vector<Interval> unordered) {
  llvm::sort(unordered, [](const Interval &left, const Interval &right) {
    return std::pair(left.start, left.end) < std::pair(right.start, right.end);
  });
  for (const Interval &interval : unordered) {
    if (interval.start >= interval.end)
      continue;
    if (!intervals.empty() && interval.start <= intervals.back().end)
      intervals.back().end = std::max(intervals.back().end, interval.end);
    else
      intervals.push_back(interval);
  }
}

Nanoseconds Intervals::getLength() const {
  Nanoseconds length = 0;
  for (const Interval &interval : intervals)
    length += interval.end - interval.start;
  return length;
}

Intervals Intervals::unite(const Intervals &other) const {
  std::vector<Interval> all = intervals;
  llvm::append_range(all, other.intervals);
  return Intervals(std::move(all));
}

Intervals Intervals::subtract(const Intervals &other) const {
  std::vector<Interval> rest;
  auto next = other.intervals.begin();
  for (const Interval &interval : intervals) {
    Nanoseconds start = interval.start;
    while (next != other.intervals.end() && next->end <= start)
      ++next;
    // The last one that cuts this interval may cut the following one, too.
    for (auto cut = next;
         cut != other.intervals.end() && cut->start < interval.end; ++cut) {
      rest.push_back({start, cut->start});
      start = std::max(start, cut->end);
    }
    rest.push_back({start, interval.end});
  }
  return Intervals(std::move(rest));
}

} // namespace mf::timeline
