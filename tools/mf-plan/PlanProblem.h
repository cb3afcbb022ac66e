//===- PlanProblem.h - mf-plan --problem -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANPROBLEM_H
#define MF_TOOLS_MF_PLAN_PLANPROBLEM_H

#include "PlanOptions.h"
#include "tools/terminal/Interrupt.h"

namespace mf::tools {

/// Reads the abstract problem of --problem, solves it, and prints and writes
/// the requested outputs. The search ends early when `stop` is set.
llvm::Error planProblem(const PlanOptions &options, const Interrupt &stop);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANPROBLEM_H
