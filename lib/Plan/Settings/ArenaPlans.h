//===- ArenaPlans.h - Arenas as mf-opt plans them ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The arenas of steps that were compiled quickly are some per cent too large.
// If that matters, the arenas of single stages are planned with full effort,
// without compiling the step again, because addresses change nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_ARENAPLANS_H
#define MF_LIB_PLAN_SETTINGS_ARENAPLANS_H

#include "lib/Plan/Settings/ParallelWork.h"
#include "mf/Plan/Settings/StepMeasure.h"

namespace mf::planner {

/// Replaces the arenas of `stages`, whose problems are in `problems`, by those
/// of mf-opt. Fails if the planner makes an illegal plan.
llvm::Error refineArenas(const CompilerInput &input,
                         llvm::ArrayRef<memory::StepProblem> problems,
                         llvm::ArrayRef<size_t> stages, StepMeasure &measure,
                         size_t numThreads = getNumProcessors());

/// Refines all stages that are not exact yet.
llvm::Error refineArenas(const CompilerInput &input,
                         llvm::ArrayRef<memory::StepProblem> problems,
                         StepMeasure &measure,
                         size_t numThreads = getNumProcessors());

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_ARENAPLANS_H
