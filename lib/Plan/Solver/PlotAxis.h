//===- PlotAxis.h - An axis of a plot with round numbers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_PLOTAXIS_H
#define MF_LIB_PLAN_SOLVER_PLOTAXIS_H

#include <vector>

namespace mf::solver {

/// An axis from its first to its last tick. The distance of ticks is 1, 2 or 5
/// times a power of ten.
class PlotAxis {
public:
  /// Makes an axis that covers all of `values`, which may be empty, with at
  /// least two and at most `most` ticks. `most` must be at least three.
  PlotAxis(const std::vector<double> &values, int most);

  const std::vector<double> &getTicks() const { return ticks; }

  /// Returns the place of a value if the axis is drawn from `begin` to `end`.
  double place(double value, double begin, double end) const {
    return begin + (value - ticks.front()) / (ticks.back() - ticks.front()) *
                       (end - begin);
  }

private:
  std::vector<double> ticks;
};

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_PLOTAXIS_H
