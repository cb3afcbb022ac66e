//===- PlanMemory.h - Pass that plans memory, with its effort ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PLAN_MEMORY_PLANMEMORY_H
#define MF_PASSES_PLAN_MEMORY_PLANMEMORY_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Program/Memory/StepPlan.h"
#include "passes/Passes.h"
#include "passes/plan-memory/MemoryLimit.h"

namespace mf::passes {

/// Receives a stage that does not fit, and reports the error, which the pass
/// then does not. May be called from the threads of a pass manager.
using MemoryLimitHandler = std::function<void(StageOverflow)>;

/// Plans one memory of a stage, as memory::planStep does.
using MemoryPlanner = std::function<llvm::Expected<memory::StepPlan>(
    const memory::StepProblem &problem, const memory::StepPlanOptions &effort)>;

/// Receives the problem of a stage's device memory after it is planned. May be
/// called from the threads of a pass manager.
using MemoryProblemHandler =
    std::function<void(int64_t stage, const memory::StepProblem &problem)>;

/// Creates ascend-plan-memory with the given effort for arenas and with
/// handlers, which may be empty. The plan of `planner` is proven legal before
/// it is used.
std::unique_ptr<mlir::Pass> createPlanMemory(
    const PlanMemoryOptions &options, const memory::StepPlanOptions &effort,
    MemoryLimitHandler handler, MemoryPlanner planner = memory::planStep,
    MemoryProblemHandler problemHandler = {});

/// Creates ascend-check-device. If there is a `text`, it is the contents of
/// `options.file`.
std::unique_ptr<mlir::Pass> createCheckDevice(const CheckDeviceOptions &options,
                                              std::optional<std::string> text);

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

#endif // MF_PASSES_PLAN_MEMORY_PLANMEMORY_H
