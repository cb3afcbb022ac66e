//===- PlanStrategies.h - mf-plan --iopddl ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANSTRATEGIES_H
#define MF_TOOLS_MF_PLAN_PLANSTRATEGIES_H

#include "PlanOptions.h"
#include <atomic>

namespace mf::tools {

/// Solves a problem of the contest on intra-operator parallelism. Prints the
/// choices, their cost and a bound. Fails with a solver::NoPlanError if no
/// choices that fit were found.
llvm::Error planStrategies(const PlanOptions &options,
                           const std::atomic<bool> &stop);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANSTRATEGIES_H
