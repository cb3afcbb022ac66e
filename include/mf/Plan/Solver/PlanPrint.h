//===- PlanPrint.h - Plans for readers ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Plans, the options that a plan refuses and the plans of several limits, as
// text, as plots and as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLAN_SOLVER_PLANPRINT_H
#define MF_PLAN_SOLVER_PLANPRINT_H

#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"

namespace mf::solver {

/// The units in which a problem's times and memory are printed. They are those
/// of the problem, unless these are known to be seconds and bytes.
struct PlanUnits {
  /// The names of the units; empty if they are not known.
  std::string time, memory;
  /// The factors by which values of the problem are multiplied.
  double timeScale = 1, memoryScale = 1;

  /// Formats a value with its unit, for example "1.25 s", or "1.25" if the unit
  /// is not known.
  std::string showTime(double value) const;
  std::string showMemory(double value) const;
  /// Formats a value without its unit, for a column or an axis whose title has
  /// it.
  std::string countTime(double value) const;
  std::string countMemory(double value) const;
  /// Formats a title, for example "limit, GiB", or "limit" if the unit is not
  /// known.
  std::string nameTime(const std::string &what) const;
  std::string nameMemory(const std::string &what) const;
};

//===----------------------------------------------------------------------===//
// A plan
//===----------------------------------------------------------------------===//

/// Prints a result as text: a table with a row per stage, the step's time,
/// bound and gap, and a description of the critical path.
void printResult(const Problem &problem, const SolveResult &result,
                 llvm::raw_ostream &os, const PlanUnits &units = {});

/// Prints the table of printResult. Each row has a stage's layers with their
/// treatments, and its memory and time from `evaluation`.
void printPlanTable(const Problem &problem, const Plan &plan,
                    const Evaluation &evaluation, const PlanUnits &units,
                    llvm::raw_ostream &os);

//===----------------------------------------------------------------------===//
// Refused options
//===----------------------------------------------------------------------===//

/// Prints a line for each stage with the option that would save time on that
/// stage, and the reason why it was not chosen. `time` is that of the step with
/// `plan`.
void printRefusals(const Problem &problem, const Plan &plan, double time,
                   llvm::ArrayRef<Refusal> refusals, const PlanUnits &units,
                   llvm::raw_ostream &os);

/// Returns an object for each stage that has an option which saves time on that
/// stage, in the units of the problem.
llvm::json::Array writeRefusals(const Problem &problem, const Plan &plan,
                                llvm::ArrayRef<Refusal> refusals);

//===----------------------------------------------------------------------===//
// The plans of several limits
//===----------------------------------------------------------------------===//

/// Prints a row for each limit: the step's time, its distance from the bound,
/// the stage with the least free memory, and the number of layers with each
/// treatment.
void printFrontier(const Problem &problem, llvm::ArrayRef<FrontierPoint> points,
                   const PlanUnits &units, llvm::raw_ostream &os);

/// Returns the results in the format of ProblemJson.h, together with their
/// limits, in the units of the problem.
llvm::json::Array writeFrontier(const Problem &problem,
                                llvm::ArrayRef<FrontierPoint> points);

/// Plots the step time over the limit with text characters. Prints nothing if
/// fewer than two limits have a plan.
void plotFrontier(llvm::ArrayRef<FrontierPoint> points, const PlanUnits &units,
                  llvm::raw_ostream &os);

/// Draws the same plot as an SVG, with the number of layers that get each
/// treatment below it.
std::string drawFrontier(const Problem &problem,
                         llvm::ArrayRef<FrontierPoint> points,
                         const PlanUnits &units);

/// Returns the number of layers of all chunks together that get each treatment.
std::vector<int64_t> countTreatments(const Problem &problem, const Plan &plan);

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_PLANPRINT_H
