//===- ApplyPlan.h - Offsets of a plan in the IR ---------------*- C++ -*-===//

#ifndef MF_PASSES_PLAN_MEMORY_APPLYPLAN_H
#define MF_PASSES_PLAN_MEMORY_APPLYPLAN_H

#include "dialects/ascend/AscendDialect.h"
#include "passes/plan-memory/StageProblem.h"

namespace mf::passes {

/// Writes the offsets of both plans into the program that `memory` was decoded
/// from, and the sizes of its memories.
void applyPlan(ascend::ProgramOp program, const StageProblem &memory,
               const memory::StepPlan &device, const memory::StepPlan &host);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_APPLYPLAN_H
