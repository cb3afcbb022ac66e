//===- FrontierPlot.cpp - Step time against memory, in characters ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlotAxis.h"
#include "mf/Plan/Solver/FrontierPrint.h"
#include "mf/Support/NumberText.h"
#include "llvm/Support/FormatAdapters.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mf::solver;

static constexpr int plotColumns = 60;
static constexpr int plotLines = 12;

namespace {

/// A line of the plot: limits that have a plan, with the time of its step.
struct Curve {
  std::vector<double> limits, times;
};

} // namespace

static Curve getCurve(llvm::ArrayRef<FrontierPoint> points,
                      const PlanUnits &units) {
  Curve curve;
  for (const FrontierPoint &point : points) {
    if (!point.result || !point.result->plan)
      continue;
    curve.limits.push_back(point.limit * units.memoryScale);
    curve.times.push_back(point.result->time * units.timeScale);
  }
  return curve;
}

/// Draws a curve. A plan also fits higher limits, so its line continues to the
/// next plan.
static std::vector<std::string> draw(const Curve &curve, const PlotAxis &limits,
                                     const PlotAxis &times) {
  std::vector<std::string> rows(plotLines, std::string(plotColumns, ' '));
  auto getColumn = [&](double limit) {
    return static_cast<size_t>(
        std::lround(limits.place(limit, 0, plotColumns - 1)));
  };
  for (size_t i = 0; i < curve.limits.size(); ++i) {
    std::string &row = rows[static_cast<size_t>(
        std::lround(times.place(curve.times[i], plotLines - 1, 0)))];
    const size_t begin = getColumn(curve.limits[i]);
    const size_t end = i + 1 < curve.limits.size()
                           ? getColumn(curve.limits[i + 1])
                           : begin + 1;
    for (size_t column = begin + 1; column < end; ++column)
      row[column] = '-';
    row[begin] = '*';
  }
  return rows;
}

void mf::solver::plotFrontier(llvm::ArrayRef<FrontierPoint> points,
                              const PlanUnits &units, llvm::raw_ostream &os) {
  const Curve curve = getCurve(points, units);
  if (curve.limits.size() < 2)
    return;
  const PlotAxis limits(curve.limits, 7), times(curve.times, 5);
  std::vector<std::string> labels(plotLines);
  size_t margin = 0;
  for (const double tick : times.getTicks()) {
    std::string &label = labels[static_cast<size_t>(
        std::lround(times.place(tick, plotLines - 1, 0)))];
    label = formatRounded(tick);
    margin = std::max(margin, label.size());
  }
  os << units.nameTime("step") << '\n';
  const std::vector<std::string> rows = draw(curve, limits, times);
  for (int row = 0; row < plotLines; ++row)
    os << llvm::right_justify(labels[row], margin)
       << (labels[row].empty() ? " |" : " +")
       << llvm::StringRef(rows[row]).rtrim() << '\n';
  std::string scale(plotColumns, ' ');
  for (const double tick : limits.getTicks()) {
    const std::string label = formatRounded(tick);
    const auto column = static_cast<size_t>(
        std::lround(limits.place(tick, 0, plotColumns - 1)));
    scale.replace(std::min(column, plotColumns - label.size()), label.size(),
                  label);
  }
  os << std::string(margin + 1, ' ') << '+' << std::string(plotColumns, '-')
     << '\n'
     << std::string(margin + 2, ' ') << llvm::StringRef(scale).rtrim() << "  "
     << units.nameMemory("limit") << '\n';
}
