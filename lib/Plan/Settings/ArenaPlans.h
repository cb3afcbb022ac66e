//===- ArenaPlans.h - Arenas as mf-opt plans them ---------------*- C++ -*-===//
//
// Steps that were compiled quickly have arenas that are some per cent too
// large. Where it matters, the arenas of single stages are planned with all
// effort, without compiling the step again: addresses change nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_ARENAPLANS_H
#define MF_PLANNER_ARENAPLANS_H

#include "mf/Plan/Settings/StepMeasure.h"

namespace mf::planner {

/// Replaces the arenas of `stages`, whose problems are among `problems`, by
/// those of mf-opt. An error if the planner makes an illegal plan.
llvm::Error refineArenas(const CompilerInput &input,
                         llvm::ArrayRef<memory::StepProblem> problems,
                         llvm::ArrayRef<size_t> stages, StepMeasure &measure);

/// Refines all stages that are not exact yet.
llvm::Error refineArenas(const CompilerInput &input,
                         llvm::ArrayRef<memory::StepProblem> problems,
                         StepMeasure &measure);

} // namespace mf::planner

#endif // MF_PLANNER_ARENAPLANS_H
