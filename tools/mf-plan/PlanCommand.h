//===- PlanCommand.h - Plans what options of mf-plan ask for ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_PLAN_PLANCOMMAND_H
#define MF_TOOLS_MF_PLAN_PLANCOMMAND_H

#include "PlanOptions.h"
#include "mf/Plan/Settings/StepPlanner.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
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

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_PLANCOMMAND_H
