//===- FrontierPrint.cpp - Step time against memory, as text ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PlotAxis.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatAdapters.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mf::solver;
using llvm::formatv;

std::vector<int64_t> mf::solver::countTreatments(const Problem &problem,
                                                 const Plan &plan) {
  std::vector<int64_t> layers(problem.getNumTreatments(), 0);
  for (const ChunkPlan &chunk : plan.chunks)
    for (size_t treatment = 0; treatment < layers.size(); ++treatment)
      layers[treatment] += chunk.getTreated(treatment);
  return layers;
}

/// Returns the memory that is left on the stage with the least.
static double getLeftMemory(const Problem &problem,
                            const FrontierPoint &point) {
  const Evaluation evaluation = evaluate(problem, *point.result->plan);
  return shiftLimits(problem, point.limit).stages[point.tightestStage].limit -
         evaluation.peaks[point.tightestStage];
}

static bool hasPlan(const FrontierPoint &point) {
  return point.result && point.result->plan;
}

static std::string describeGap(const SolveResult &result) {
  return result.isProven ? "proven"
                         : formatv("{0:f2} %", result.getGap() * 100).str();
}

/// Returns the treatments that are shown as columns. Treatments that no plan
/// uses are left out.
static std::vector<size_t> getUsed(const Problem &problem,
                                   llvm::ArrayRef<FrontierPoint> points) {
  std::vector<size_t> used;
  for (size_t treatment = 0; treatment < problem.getNumTreatments();
       ++treatment)
    if (llvm::any_of(points, [&](const FrontierPoint &point) {
          return hasPlan(point) &&
                 countTreatments(problem, *point.result->plan)[treatment] > 0;
        }))
      used.push_back(treatment);
  return used;
}

void mf::solver::printFrontier(const Problem &problem,
                               llvm::ArrayRef<FrontierPoint> points,
                               const PlanUnits &units, llvm::raw_ostream &os) {
  std::vector<std::string> header = {
      units.nameMemory("limit"), units.nameTime("step"), "gap",
      "tightest stage", units.nameMemory("left")};
  const std::vector<size_t> used = getUsed(problem, points);
  for (const size_t treatment : used)
    header.push_back(problem.kinds.front().treatments[treatment].name);
  TextTable table(header);
  for (const FrontierPoint &point : points) {
    std::vector<std::string> row = {units.countMemory(point.limit)};
    if (hasPlan(point)) {
      const SolveResult &result = *point.result;
      row.push_back(units.countTime(result.time));
      row.push_back(describeGap(result));
      row.push_back(std::to_string(point.tightestStage));
      row.push_back(units.countMemory(getLeftMemory(problem, point)));
      const auto layers = countTreatments(problem, *result.plan);
      for (const size_t treatment : used)
        row.push_back(std::to_string(layers[treatment]));
    } else {
      row.emplace_back(point.result ? "not found" : "none fits");
      row.resize(header.size(), "-");
    }
    table.addRow(std::move(row));
  }
  table.print(os);
}

llvm::json::Array
mf::solver::writeFrontier(const Problem &problem,
                          llvm::ArrayRef<FrontierPoint> points) {
  llvm::json::Array array;
  for (const FrontierPoint &point : points) {
    llvm::json::Object object{{"limit", point.limit}, {"result", nullptr}};
    if (hasPlan(point)) {
      object["tightest_stage"] = point.tightestStage;
      object["left"] = getLeftMemory(problem, point);
      object["result"] =
          writeResult(shiftLimits(problem, point.limit), *point.result);
    }
    array.push_back(std::move(object));
  }
  return array;
}

//===----------------------------------------------------------------------===//
// As a plot of characters
//===----------------------------------------------------------------------===//

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
