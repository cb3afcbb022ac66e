//===- FrontierDrawing.cpp - Step time against memory, as an SVG ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The upper part shows the step's time over the limit. A plan also fits higher
// limits, so the curve is a staircase. The lower part shows for each limit how
// many layers get each treatment.
//
//===----------------------------------------------------------------------===//

#include "PlotAxis.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::solver;
using llvm::formatv;

namespace {

// Coordinates of the parts of the drawing.
constexpr double left = 80, right = 620, width = 660, height = 460;
constexpr double curveTop = 40, curveBottom = 260;
constexpr double barsTop = 320, barsBottom = 400;

constexpr llvm::StringLiteral curveColor = "#1f5fa8", boundColor = "#b5332c";
/// The colours of treatments, in their order. They repeat if there are more
/// treatments.
constexpr std::array<llvm::StringLiteral, 8> barColors = {
    "#9db8d9", "#b5332c", "#e0a458", "#5b8c5a",
    "#7a5195", "#8c6d46", "#4f9da6", "#888888"};

std::vector<double> getLimits(llvm::ArrayRef<FrontierPoint> points,
                              const PlanUnits &units) {
  std::vector<double> values;
  for (const FrontierPoint &point : points)
    values.push_back(point.limit * units.memoryScale);
  return values;
}

std::vector<double> getTimes(llvm::ArrayRef<FrontierPoint> points,
                             const PlanUnits &units) {
  std::vector<double> values;
  for (const FrontierPoint &point : points)
    if (point.result && point.result->plan)
      values.insert(values.end(), {point.result->time * units.timeScale,
                                   point.result->bound * units.timeScale});
  return values;
}

/// The drawing of one frontier.
class Drawing {
public:
  Drawing(const Problem &problem, llvm::ArrayRef<FrontierPoint> points,
          const PlanUnits &units)
      : problem(problem), units(units), limits(getLimits(points, units), 9),
        times(getTimes(points, units), 7), os(text) {
    for (const FrontierPoint &point : points)
      if (point.result && point.result->plan)
        solved.push_back(point);
      else
        unsolved = point.limit;
  }

  std::string draw() {
    os << formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} "
                  "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                  width, height);
    addStretchWithoutPlan();
    addAxes();
    if (llvm::any_of(solved, [](const FrontierPoint &point) {
          return !point.result->isProven;
        })) {
      addSteps(
          [](const SolveResult &result) { return result.bound; },
          formatv("stroke=\"{0}\" stroke-dasharray=\"4 4\"", boundColor).str());
      addText(right, curveTop - 14, "end", "dashed: no plan is shorter");
    }
    addSteps([](const SolveResult &result) { return result.time; },
             formatv("stroke=\"{0}\" stroke-width=\"2\"", curveColor).str());
    addPoints();
    addBars();
    addLegend();
    os << "</svg>\n";
    return text;
  }

private:
  double getX(double limit) const {
    return limits.place(limit * units.memoryScale, left, right);
  }
  double getY(double time) const {
    return times.place(time * units.timeScale, curveBottom, curveTop);
  }

  void addText(double x, double y, llvm::StringRef anchor,
               llvm::StringRef content) {
    os << formatv("<text x=\"{0:f1}\" y=\"{1:f1}\" text-anchor=\"{2}\">", x, y,
                  anchor);
    llvm::printHTMLEscaped(content, os);
    os << "</text>\n";
  }

  void addAxes() {
    for (const double tick : times.getTicks()) {
      const double y = times.place(tick, curveBottom, curveTop);
      os << formatv("<path d=\"M{0:f1} {1:f1}H{2:f1}\" stroke=\"#ddd\"/>\n",
                    left, y, right);
      addText(left - 8, y + 4, "end", mf::formatRounded(tick));
    }
    for (const double tick : limits.getTicks()) {
      const double x = limits.place(tick, left, right);
      os << formatv("<path d=\"M{0:f1} {1:f1}v5\" stroke=\"#888\"/>\n", x,
                    curveBottom);
      addText(x, curveBottom + 18, "middle", mf::formatRounded(tick));
    }
    os << formatv("<path d=\"M{0:f1} {1:f1}V{2:f1}H{3:f1}\" fill=\"none\" "
                  "stroke=\"#888\"/>\n",
                  left, curveTop, curveBottom, right);
    addText(left, curveTop - 14, "middle", units.nameTime("step"));
    addText((left + right) / 2, curveBottom + 36, "middle",
            units.nameMemory("limit"));
  }

  void addStretchWithoutPlan() {
    if (!unsolved)
      return;
    const double end = solved.empty() ? right : getX(*unsolved);
    os << formatv("<rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"{2:f1}\" "
                  "height=\"{3:f1}\" fill=\"#eee\"/>\n",
                  left, curveTop, end - left, curveBottom - curveTop);
    addText(left + 6, curveTop + 16, "start", "no plan");
  }

  /// Draws a curve of `getTime` of each result.
  void addSteps(llvm::function_ref<double(const SolveResult &)> getTime,
                llvm::StringRef style) {
    std::string path;
    llvm::raw_string_ostream stairs(path);
    for (const FrontierPoint &point : solved) {
      const double x = getX(point.limit), y = getY(getTime(*point.result));
      if (path.empty())
        stairs << formatv("M{0:f1} {1:f1}", x, y);
      else
        stairs << formatv("H{0:f1}V{1:f1}", x, y);
    }
    if (!path.empty())
      os << formatv("<path d=\"{0}H{1:f1}\" fill=\"none\" {2}/>\n", path, right,
                    style);
  }

  void addPoints() {
    for (const FrontierPoint &point : solved) {
      os << formatv(
          "<circle cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"3.5\" fill=\"{2}\"><title>",
          getX(point.limit), getY(point.result->time), curveColor);
      const std::string title = formatv(
          "{0}: {1}, stage {2} has least left", units.showMemory(point.limit),
          units.showTime(point.result->time), point.tightestStage);
      llvm::printHTMLEscaped(title, os);
      os << "</title></circle>\n";
    }
  }

  void addBars() {
    const double layers =
        std::max<double>(1, static_cast<double>(problem.getNumLayers()));
    // The bars are as wide as the distance between limits allows.
    double barWidth = 30;
    for (size_t i = 1; i < solved.size(); ++i)
      barWidth = std::min(
          barWidth, 0.7 * (getX(solved[i].limit) - getX(solved[i - 1].limit)));
    for (const FrontierPoint &point : solved) {
      double bottom = barsBottom;
      const auto counts = countTreatments(problem, *point.result->plan);
      for (size_t i = 0; i < counts.size(); ++i) {
        const auto part =
            static_cast<double>(counts[i]) / layers * (barsBottom - barsTop);
        bottom -= part;
        if (counts[i] == 0)
          continue;
        os << formatv("<rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"{2:f1}\" "
                      "height=\"{3:f1}\" fill=\"{4}\"><title>",
                      getX(point.limit) - barWidth / 2, bottom, barWidth, part,
                      barColors[i % barColors.size()]);
        const std::string title =
            formatv("{0}: {1} layers {2}", units.showMemory(point.limit),
                    counts[i], problem.kinds.front().treatments[i].name);
        llvm::printHTMLEscaped(title, os);
        os << "</title></rect>\n";
      }
    }
    addText(left - 8, barsTop + 10, "end",
            std::to_string(problem.getNumLayers()));
    addText(left - 8, barsTop + 24, "end", "layers");
    os << formatv("<path d=\"M{0:f1} {1:f1}H{2:f1}\" stroke=\"#888\"/>\n", left,
                  barsBottom, right);
  }

  void addLegend() {
    double x = left;
    for (size_t i = 0; i < problem.getNumTreatments(); ++i) {
      const std::string &name = problem.kinds.front().treatments[i].name;
      os << formatv("<rect x=\"{0:f1}\" y=\"{1:f1}\" width=\"10\" "
                    "height=\"10\" fill=\"{2}\"/>\n",
                    x, barsBottom + 22, barColors[i % barColors.size()]);
      addText(x + 15, barsBottom + 31, "start", name);
      x += 35 + 7 * static_cast<double>(name.size());
    }
  }

  const Problem &problem;
  /// The points of the frontier that have a plan.
  std::vector<FrontierPoint> solved;
  /// The largest limit that is infeasible. All lower limits are too.
  std::optional<double> unsolved;
  const PlanUnits &units;
  PlotAxis limits, times;
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace

std::string mf::solver::drawFrontier(const Problem &problem,
                                     llvm::ArrayRef<FrontierPoint> points,
                                     const PlanUnits &units) {
  return Drawing(problem, points, units).draw();
}
