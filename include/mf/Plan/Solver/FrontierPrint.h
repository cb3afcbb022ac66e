//===- FrontierPrint.h - Prints step time over memory -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PLAN_SOLVER_FRONTIERPRINT_H
#define MF_PLAN_SOLVER_FRONTIERPRINT_H

#include "mf/Plan/Solver/PlanUnits.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"

namespace mf::solver {

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

#endif // MF_PLAN_SOLVER_FRONTIERPRINT_H
