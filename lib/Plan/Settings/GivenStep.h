//===- GivenStep.h - The step that a YAML asks for as it is ----*- C++ -*-===//

#ifndef MF_PLANNER_GIVENSTEP_H
#define MF_PLANNER_GIVENSTEP_H

#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

struct GivenStep {
  CompiledStep step;
  /// The limit as requested, or max_device_memory.
  int64_t limitBytes = 0;
};

/// Compiles the YAML of a request as it is, quickly.
llvm::Expected<GivenStep> compileGiven(const PlanRequest &request);

} // namespace mf::planner

#endif // MF_PLANNER_GIVENSTEP_H
