//===- TrainingReport.h - Report of mf-plan on a training YAML --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_TRAININGREPORT_H
#define MF_TOOLS_MF_PLAN_TRAININGREPORT_H

#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Plan/Settings/StepPlanner.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "llvm/Support/JSON.h"

namespace mf::tools {

/// Returns the settings that have a value, keyed by the names of the YAML.
llvm::json::Object writeSettings(const MemorySettings &settings);

/// Returns units that print seconds and bytes in a form suited to the duration
/// of the step and the memory limit.
solver::PlanUnits getTrainingUnits(double seconds, int64_t limitBytes);

/// Prints the given and the planned step, the stages of the latter, and its
/// settings. `yaml` is the given YAML.
void printTrainingPlan(llvm::StringRef yaml, const planner::PlanAnswer &found,
                       const solver::PlanUnits &units, llvm::raw_ostream &os);

/// Prints how to get recompute tasks, which a YAML cannot select.
void printRecomputeTasks(llvm::raw_ostream &os);

/// Returns the same information and more as JSON, in seconds and bytes.
llvm::json::Object writeTrainingPlan(const planner::PlanAnswer &found);

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_TRAININGREPORT_H
