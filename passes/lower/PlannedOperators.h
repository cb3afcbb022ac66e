//===- PlannedOperators.h - Input of the issue plan -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_PLANNEDOPERATORS_H
#define MF_PASSES_LOWER_PLANNEDOPERATORS_H

#include "dialects/mf/MfOps.h"
#include "passes/lower/IssuePlan.h"

namespace mf::passes {

/// Describes `operators`, which are consecutive in a block. `gradients` are the
/// gradients of parameters among the function's results.
std::vector<PlannedOperator>
describeOperators(llvm::ArrayRef<mlir::Operation *> operators,
                  llvm::ArrayRef<mlir::Value> gradients);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_PLANNEDOPERATORS_H
