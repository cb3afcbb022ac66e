//===- PlotAxis.h - An axis of a plot with round numbers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_PLOTAXIS_H
#define MF_LIB_PLAN_SOLVER_PLOTAXIS_H

#include <algorithm>
#include <cmath>
#include <vector>

namespace mf::solver {

/// Returns the first number of the form 1, 2 or 5 times a power of ten that is
/// at least `interval`.
inline double roundUp(double interval) {
  const double power = std::pow(10, std::floor(std::log10(interval)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= interval)
      return factor * power;
  return 10 * power;
}

/// An axis from its first to its last tick. The distance of ticks is 1, 2 or 5
/// times a power of ten.
class PlotAxis {
public:
  /// Makes an axis that covers all of `values`, which may be empty, with at
  /// least two and at most `most` ticks. `most` must be at least three.
  PlotAxis(const std::vector<double> &values, int most) {
    double low = 0, high = 1;
    if (!values.empty()) {
      const auto [least, largest] =
          std::minmax_element(values.begin(), values.end());
      low = *least, high = *largest;
    }
    // An axis that crosses a round number needs three ticks.
    most = std::max(most, 3);
    // The axis of a single value, or of values that are equal up to rounding,
    // is widened.
    const double size = std::max(std::abs(low), std::abs(high));
    const double range =
        high - low > 1e-9 * size ? high - low : std::max(size / 2, 1e-9);
    double interval = roundUp(range / (most - 1));
    // Rounding both ends outwards may add a tick.
    while (std::ceil(high / interval) - std::floor(low / interval) > most - 1)
      interval = roundUp(interval * 1.5);
    const double first = std::floor(low / interval);
    const double intervals = std::max(std::ceil(high / interval) - first, 1.0);
    for (int i = 0; i <= static_cast<int>(intervals); ++i)
      ticks.push_back((first + i) * interval);
  }

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
