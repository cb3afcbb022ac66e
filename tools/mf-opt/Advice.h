//===- Advice.h - Advice for a step that does not fit -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_OPT_ADVICE_H
#define MF_TOOLS_MF_OPT_ADVICE_H

#include "mf/Plan/Settings/StepPlanner.h"
#include <optional>

namespace mf::tools {

/// Checks the value of --advise-time-limit.
llvm::Error checkAdviceTime(double seconds);

/// Searches for the cheapest change of a step's settings with which it fits
/// into `limitBytes` of the request. Prints it as a note on standard error, or
/// the reason why there is none. `target` is the name of the request's target.
///
/// ^C ends the search, and `seconds` do, if there are any. If a compile does
/// not end soon then, the function ends the program with a failure, so all
/// output must have been written before.
void printAdvice(const planner::PlanRequest &request, llvm::StringRef target,
                 std::optional<double> seconds);

} // namespace mf::tools

#endif // MF_TOOLS_MF_OPT_ADVICE_H
