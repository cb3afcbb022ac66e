//===- PlanMemory.h - Memory plans of more or less effort ------*- C++ -*-===//

#ifndef MF_PASSES_PLAN_MEMORY_PLANMEMORY_H
#define MF_PASSES_PLAN_MEMORY_PLANMEMORY_H

#include "mf/Memory/StepPlan.h"
#include "passes/Passes.h"

namespace mf::passes {

/// mf-plan-memory that takes as much trouble over arenas as `effort` says.
std::unique_ptr<mlir::Pass>
createPlanMemory(const PlanMemoryOptions &options,
                 const memory::StepPlanOptions &effort);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_PLANMEMORY_H
