//===- PlotAxis.h - An axis of a plot with round numbers ------*- C++ -*-===//

#ifndef MF_LIB_PLAN_PLOTAXIS_H
#define MF_LIB_PLAN_PLOTAXIS_H

#include <vector>

namespace mf::plan {

/// From the first to the last of its ticks, which are as far from one another
/// as 1, 2 or 5 times a power of ten.
class PlotAxis {
public:
  /// Covers all of `values`, of which there may be none, with at least two and
  /// at most `most` ticks, which may be three or more.
  PlotAxis(const std::vector<double> &values, int most);

  const std::vector<double> &getTicks() const { return ticks; }

  /// Where a value is if the axis goes from `begin` to `end`.
  double place(double value, double begin, double end) const {
    return begin + (value - ticks.front()) / (ticks.back() - ticks.front()) *
                       (end - begin);
  }

private:
  std::vector<double> ticks;
};

} // namespace mf::plan

#endif // MF_LIB_PLAN_PLOTAXIS_H
