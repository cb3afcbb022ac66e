//===- Intervals.h - When something goes on -------------------*- C++ -*-===//

#ifndef MF_LIB_TIMELINE_INTERVALS_H
#define MF_LIB_TIMELINE_INTERVALS_H

#include "Clock.h"

namespace mf::timeline {

struct Interval {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
};

/// Intervals that neither overlap nor touch, in the order of time.
class Intervals {
public:
  Intervals() = default;
  /// The times that are in any of them.
  explicit Intervals(std::vector<Interval> unordered);

  Nanoseconds getLength() const;
  const std::vector<Interval> &get() const { return intervals; }

  /// The times in either, and those of these that are not in `other`.
  Intervals unite(const Intervals &other) const;
  Intervals subtract(const Intervals &other) const;

private:
  std::vector<Interval> intervals;
};

} // namespace mf::timeline

#endif // MF_LIB_TIMELINE_INTERVALS_H
