//===- Advice.h - Advice for a step that does not fit -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_OPT_ADVICE_H
#define MF_TOOLS_MF_OPT_ADVICE_H

#include "mf/Plan/Settings/StepPlanner.h"
#include <cstdlib>
#include <optional>

namespace mf::tools {

/// Checks the value of --advise-time-limit.
llvm::Error checkAdviceTime(double seconds);

struct AdviceOptions {
  planner::PlanRequest request;
  /// The name of the request's target.
  std::string target;
  std::optional<double> seconds = {};
  /// The code with which the program ends if a compile does not end in time.
  int exitCode = EXIT_FAILURE;
};

/// Searches for the cheapest change of a step's settings with which it fits
/// into `limitBytes` of the request. Prints it as a note on standard error, or
/// the reason why there is none.
///
/// ^C ends the search, and `seconds` do, if there are any. If a compile does
/// not end soon then, the function prints what it has found and ends the
/// program, so all output must have been written before.
void printAdvice(const AdviceOptions &options);

} // namespace mf::tools

#endif // MF_TOOLS_MF_OPT_ADVICE_H
