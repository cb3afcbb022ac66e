//===- RefusalPrint.h - Why stages have no better option ------*- C++ -*-===//

#ifndef MF_PLAN_REFUSALPRINT_H
#define MF_PLAN_REFUSALPRINT_H

#include "mf/Plan/Solver/PlanUnits.h"
#include "mf/Plan/Solver/Solver.h"
#include "llvm/Support/JSON.h"

namespace mf::plan {

/// A line for each stage: what would save time of its own, and why it is not
/// done. `time` is that of the step with `plan`.
void printRefusals(const Problem &problem, const Plan &plan, double time,
                   llvm::ArrayRef<Refusal> refusals, const PlanUnits &units,
                   llvm::raw_ostream &os);

/// An object for each stage that has an option which saves time of its own; in
/// the units of the problem.
llvm::json::Array writeRefusals(const Problem &problem, const Plan &plan,
                                llvm::ArrayRef<Refusal> refusals);

} // namespace mf::plan

#endif // MF_PLAN_REFUSALPRINT_H
