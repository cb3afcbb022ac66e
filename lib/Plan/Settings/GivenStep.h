//===- GivenStep.h - The step of an unchanged YAML --------------*- C++ -*-===//

#ifndef MF_LIB_PLAN_SETTINGS_GIVENSTEP_H
#define MF_LIB_PLAN_SETTINGS_GIVENSTEP_H

#include "mf/Plan/Settings/StepPlanner.h"

namespace mf::planner {

struct GivenStep {
  CompiledStep step;
  /// The limit as requested, or max_device_memory.
  int64_t limitBytes = 0;
};

/// Compiles the unchanged YAML of a request, quickly.
llvm::Expected<GivenStep> compileGiven(const PlanRequest &request);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_GIVENSTEP_H
