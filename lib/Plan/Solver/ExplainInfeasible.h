//===- ExplainInfeasible.h - Explains why no plan fits ----------*- C++ -*-===//

#ifndef MF_LIB_PLAN_EXPLAININFEASIBLE_H
#define MF_LIB_PLAN_EXPLAININFEASIBLE_H

#include "Ticks.h"

namespace mf::plan {

/// Explains why no plan solves the problem: names the stage that lacks most
/// memory if the layers are dealt and treated such that this is least, or the
/// rule that leaves no plan.
llvm::Error explainInfeasible(const TickProblem &problem);

} // namespace mf::plan

#endif // MF_LIB_PLAN_EXPLAININFEASIBLE_H
