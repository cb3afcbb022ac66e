//===- Intervals.h - Sets of intervals of time ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_TIMELINE_INTERVALS_H
#define MF_LIB_PERF_TIMELINE_INTERVALS_H

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace mf::timeline {

template <typename Time> struct Interval {
  Time start = 0;
  Time end = 0;
};

/// Intervals that neither overlap nor touch, in the order of time. All
/// operations take linear time, except for sorting unordered intervals.
template <typename Time> class Intervals {
public:
  Intervals() = default;
  /// Makes the union of intervals. Empty and reversed ones are ignored.
  explicit Intervals(std::vector<Interval<Time>> unordered) {
    if (!std::is_sorted(unordered.begin(), unordered.end(), startsBefore))
      std::sort(unordered.begin(), unordered.end(), startsBefore);
    for (const Interval<Time> &interval : unordered) {
      if (interval.start >= interval.end)
        continue;
      if (!intervals.empty() && interval.start <= intervals.back().end)
        intervals.back().end = std::max(intervals.back().end, interval.end);
      else
        intervals.push_back(interval);
    }
  }

  Time getLength() const {
    Time length = 0;
    for (const Interval<Time> &interval : intervals)
      length += interval.end - interval.start;
    return length;
  }

  const std::vector<Interval<Time>> &get() const { return intervals; }

  /// Returns the times that are in either of the two.
  Intervals unite(const Intervals &other) const {
    std::vector<Interval<Time>> all;
    all.reserve(intervals.size() + other.intervals.size());
    std::merge(intervals.begin(), intervals.end(), other.intervals.begin(),
               other.intervals.end(), std::back_inserter(all), startsBefore);
    return Intervals(std::move(all));
  }

  /// Returns the times that are not in `other`.
  Intervals subtract(const Intervals &other) const {
    std::vector<Interval<Time>> rest;
    auto next = other.intervals.begin();
    for (const Interval<Time> &interval : intervals) {
      Time start = interval.start;
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

private:
  static bool startsBefore(const Interval<Time> &left,
                           const Interval<Time> &right) {
    return left.start < right.start;
  }

  std::vector<Interval<Time>> intervals;
};

} // namespace mf::timeline

#endif // MF_LIB_PERF_TIMELINE_INTERVALS_H
