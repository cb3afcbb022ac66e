//===- FrontierPrint.cpp - Step time against memory, as a table -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/FrontierPrint.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

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
