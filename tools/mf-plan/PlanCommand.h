//===- PlanCommand.h - Plans what options of mf-plan ask for ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANCOMMAND_H
#define MF_TOOLS_MF_PLAN_PLANCOMMAND_H

#include "PlanOptions.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Plan/Settings/StepPlanner.h"
#include "mf/Plan/Solver/PlanPrint.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace mf::tools {

/// Returns the text of a file, or of standard input for "-".
llvm::Expected<std::string> readInput(llvm::StringRef path);

/// Returns the name of the file for messages.
llvm::StringRef nameInput(llvm::StringRef path);

/// Searches, prints and writes what is found, and prints errors. Returns the
/// exit code of the program.
int runPlanner(const PlanOptions &options);

/// Converts the options to a request to the planner, which cannot be stopped
/// and does not report progress.
llvm::Expected<planner::PlanRequest> makeRequest(const PlanOptions &options);

/// Plans the training YAML, and prints and writes the requested outputs. The
/// search ends early when `stop` is set.
llvm::Error planTraining(const PlanOptions &options, const Interrupt &stop);

/// Returns the planned YAML with the limit that it was planned for, if that is
/// another one than the YAML's.
llvm::Expected<std::string> writeLimit(const planner::PlanRequest &request,
                                       llvm::StringRef planned,
                                       int64_t limitBytes);

/// Plans the training YAML for --devices, including the layout, and prints and
/// writes the requested outputs. The search ends early when `stop` is set.
llvm::Error planLayouts(const PlanOptions &options, const Interrupt &stop);

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

#endif // MF_TOOLS_MF_PLAN_PLANCOMMAND_H
