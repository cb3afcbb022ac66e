//===- TrainingReport.h - What mf-plan says of a training YAML -*- C++ -*-===//

#ifndef MF_TOOLS_MF_PLAN_TRAININGREPORT_H
#define MF_TOOLS_MF_PLAN_TRAININGREPORT_H

#include "mf/Plan/PlanUnits.h"
#include "planner/StepPlanner.h"
#include "llvm/Support/JSON.h"

namespace mf::tools {

/// Of what the planner finds, which is in seconds and bytes.
plan::PlanUnits getTrainingUnits();

/// The given and the planned step, the stages of the latter, and the settings
/// that make it.
void printTrainingPlan(const planner::StepPlan &found, llvm::raw_ostream &os);

/// The same and more as JSON, in seconds and bytes.
llvm::json::Object writeTrainingPlan(const planner::StepPlan &found);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_TRAININGREPORT_H
