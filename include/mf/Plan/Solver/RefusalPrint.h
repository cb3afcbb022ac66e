//===- RefusalPrint.h - Reasons against other options -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PLAN_SOLVER_REFUSALPRINT_H
#define MF_PLAN_SOLVER_REFUSALPRINT_H

#include "mf/Plan/Solver/PlanUnits.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"

namespace mf::solver {

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

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_REFUSALPRINT_H
