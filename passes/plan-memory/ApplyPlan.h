//===- ApplyPlan.h - Offsets of a plan in the IR ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PLAN_MEMORY_APPLYPLAN_H
#define MF_PASSES_PLAN_MEMORY_APPLYPLAN_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Program/Memory/StepPlan.h"

namespace mf::passes {

/// A plan and its problem.
struct PlannedProblem {
  const memory::StepProblem &problem;
  const memory::StepPlan &plan;
};

/// Writes both plans into a program. The place of each part of a problem is
/// written to the operation at its id among `operations` (StageProblem.h), and
/// the sizes of the memories to the program.
void applyPlan(ascend::ProgramOp program,
               llvm::ArrayRef<mlir::Operation *> operations,
               const PlannedProblem &device, const PlannedProblem &host);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_APPLYPLAN_H
