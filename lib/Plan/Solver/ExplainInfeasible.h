//===- ExplainInfeasible.h - Explains why no plan fits ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_EXPLAININFEASIBLE_H
#define MF_LIB_PLAN_SOLVER_EXPLAININFEASIBLE_H

#include "Ticks.h"

namespace mf::solver {

/// Explains why no plan is feasible. The error names the stage that lacks most
/// memory if the layers are distributed and treated such that this lack is
/// least, or the rule that excludes all plans.
llvm::Error explainInfeasible(const TickProblem &problem);

/// Returns the error for a problem whose kinds of layers can be arranged in too
/// many ways.
llvm::Error makeTooManyError(const TickProblem &problem);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_EXPLAININFEASIBLE_H
